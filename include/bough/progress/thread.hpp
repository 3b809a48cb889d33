// SPDX-License-Identifier: BSL-1.0
// progress_thread: one thread that moves on the operations of any number of communicators.
//
//   bough::progress_thread helper;
//   helper.look_after(comm);          // comm is over bough::serialised{transport}
//   auto op = bough::start_allreduce(comm, x, bough::plus{});
//   compute();                        // op goes on, and late messages are combined
//   op.wait();
// While operations are in flight and nothing comes, the thread sleeps where the transport wakes it
// (DescriptorTransport, POSIX). Where there is no descriptor it polls, with naps that grow to
// `longest_nap_us`. While no operation is in flight, it sleeps until one is started, and uses no
// processor time. It ends operations whose time is up. Ops of users run in it. It keeps the
// sessions of its communicators until leave(), or until it is destroyed; after that, operations in
// flight go on in calls that poll. The child of a fork has no such thread: there the helper does
// nothing, operations end with forked_child, and destroying the helper does not wait.
#ifndef BOUGH_PROGRESS_THREAD_HPP
#define BOUGH_PROGRESS_THREAD_HPP

#include <bough/communicator.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/error.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/serialised.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#if __has_include(<poll.h>)
#include <bough/os/fd.hpp>

#include <poll.h>
#endif
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How eagerly the thread looks.
struct progress_thread_options {
    std::uint32_t polls = 32;           // how often it polls in vain before it sleeps
    std::uint32_t longest_nap_us = 100; // without a descriptor: about how long a message may wait
    std::uint32_t tick_ms = 20;         // with one: how often it looks at deadlines
};

#if __has_include(<poll.h>)
namespace detail {
// A bell for a thread that sleeps in poll().
class polled_bell final : public progress_bell {
public:
    polled_bell() {
        int ends[2] = {-1, -1};
        if (::pipe(ends) != 0) return;
        heard_ = unique_fd(ends[0]);
        rung_ = unique_fd(ends[1]);
        for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
    }
    int descriptor() const noexcept { return heard_.get(); } // -1: descriptors ran out

private:
    void wake_elsewhere() noexcept override { (void)!::write(rung_.get(), "", 1); }
    void woken_elsewhere() noexcept override {
        char once = 0;
        (void)!::read(heard_.get(), &once, 1);
    }
    unique_fd heard_, rung_;
};
} // namespace detail
#endif

class progress_thread {
public:
    // Throws error, no_resources, if it cannot have a thread.
    explicit progress_thread(progress_thread_options options = {}) : options_(options) {
#if BOUGH_HAS_EXCEPTIONS
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error&) {
            throw error({.code = errc::no_resources, .argument = "progress_thread: a thread"});
        }
#else
        thread_ = std::thread([this] { run(); });
#endif
    }
    progress_thread(const progress_thread&) = delete;
    progress_thread& operator=(const progress_thread&) = delete;
    ~progress_thread() {
        if (forked()) {
            leave_all_to_parent();
            return;
        }
        stopping_.store(true, std::memory_order_relaxed);
        bell_->ring();
        thread_.join();
        for (const auto& s : sessions_) s->set_bell(nullptr);
    }

    // Looks after all operations over this communicator's transport. Calls are counted, so
    // communicators that share a transport may each be given. Pre: no other progress_thread looks
    // after that transport.
    template <class T>
    void look_after(const communicator<serialised<T>>& comm) {
        using shared_session = session<serialised<T>>;
        const std::shared_ptr<shared_session>& shared = comm.shared_session();
        if (forked() || shared->forked()) return;
        {
            const std::scoped_lock lock(mutex_);
            if (const auto known = find(shared.get()); known != sessions_.end()) {
                ++(*known)->times;
                return;
            }
            auto made = std::make_unique<looked_after<shared_session>>(shared);
            BOUGH_EXPECTS(made->bell() == nullptr, "look_after: another progress_thread looks after this transport");
#if __has_include(<poll.h>)
            // The thread itself allocates nothing, and may be in poll() now.
            roomier_.reserve(sessions_.size() + 2);
#endif
            sessions_.push_back(std::move(made));
            sessions_.back()->set_bell(bell_);
        }
        bell_->ring();
    }
    // Ends one look_after() of a communicator over this transport. Does nothing if there was none.
    // When the last one has ended, the helper does not touch the session any more.
    template <class T>
    void leave(const communicator<serialised<T>>& comm) {
        if (forked() || comm.shared_session()->forked()) return;
        std::unique_ptr<any_session> gone; // destroyed after the lock is gone
        const std::scoped_lock lock(mutex_);
        const auto known = find(comm.shared_session().get());
        if (known == sessions_.end() || --(*known)->times != 0) return;
        gone = std::move(*known);
        sessions_.erase(known);
        gone->set_bell(nullptr);
        bell_->ring(); // the thread may be sleeping on this descriptor
    }

    // For measurements with the thread's own clock: std::thread::native_handle.
    std::thread::native_handle_type native_handle() { return thread_.native_handle(); }

private:
    bool forked() const noexcept { return detail::forks() != forks_; }
    // For the child of a fork, which does not have the thread. At the fork, the thread may have
    // been changing any of these.
    void leave_all_to_parent() noexcept {
        detail::leave_to_parent(thread_);
        detail::leave_to_parent(bell_); // the thread may be waiting for it
        detail::leave_to_parent(sessions_);
#if __has_include(<poll.h>)
        detail::leave_to_parent(watched_);
        detail::leave_to_parent(roomier_);
#endif
    }

    struct any_session {
        virtual ~any_session() = default;
        virtual bool progress() = 0;
        virtual bool busy() const = 0;
        virtual void check_deadlines() = 0;
        virtual void set_bell(std::shared_ptr<progress_bell>) = 0;
        // Arms the descriptor and returns it, to sleep on; or returns one of these.
        static constexpr int has_none = -1, has_moved = -2;
        virtual int arm() = 0;
        virtual void disarm() = 0;
        virtual const void* identity() const noexcept = 0;
        std::size_t times = 1; // how often look_after() was called for it
    };
    template <class S>
    struct looked_after final : any_session {
        using inner = std::remove_reference_t<decltype(std::declval<S&>().transport().inner())>;
        explicit looked_after(std::shared_ptr<S> s) : shared(std::move(s)) {}
        ~looked_after() override { disarm(); }
        int arm() override {
            if constexpr (DescriptorTransport<inner>) {
                return shared->with_lock([&] {
                    const int descriptor = shared->transport().inner().descriptor();
                    if (descriptor < 0) return any_session::has_none;
                    if (shared->progress() || shared->make_way()) return any_session::has_moved;
                    if (!shared->transport().inner().arm()) return any_session::has_moved;
                    shared->transport().set_asleep(armed = true);
                    return descriptor;
                });
            } else {
                return any_session::has_none;
            }
        }
        void disarm() override {
            if constexpr (DescriptorTransport<inner>)
                shared->with_lock([&] {
                    shared->transport().set_asleep(false);
                    if (std::exchange(armed, false)) shared->transport().inner().disarm();
                });
        }
        bool progress() override { return shared->progress(); }
        bool busy() const override { return shared->busy(); }
        void check_deadlines() override { shared->check_deadlines(); }
        void set_bell(std::shared_ptr<progress_bell> bell) override {
            shared->with_lock([&] { shared->transport().set_bell(std::move(bell)); });
        }
        std::shared_ptr<progress_bell> bell() const {
            return shared->with_lock([&] { return shared->transport().bell(); });
        }
        const void* identity() const noexcept override { return shared.get(); }
        std::shared_ptr<S> shared;
        bool armed = false;
    };
    std::vector<std::unique_ptr<any_session>>::iterator find(const void* identity) noexcept {
        return std::find_if(sessions_.begin(), sessions_.end(),
                            [&](const auto& s) { return s->identity() == identity; });
    }

    // True: there is work to do. `moved` becomes true if something happened.
    bool progress(bool look_at_deadlines, bool& moved) {
        const std::scoped_lock lock(mutex_);
        bool busy = false;
        for (const auto& s : sessions_) {
            moved |= s->progress();
            if (look_at_deadlines) s->check_deadlines();
            busy |= s->busy();
        }
        return busy;
    }
    // Sleeps until a transport has something, or the bell rings. False: a transport has no
    // descriptor.
    bool sleep_on_descriptors() {
#if __has_include(<poll.h>)
        if (bell_->descriptor() < 0) return false;
        {
            const std::scoped_lock lock(mutex_);
            if (watched_.capacity() <= sessions_.size()) watched_.swap(roomier_);
            watched_.clear();
            watched_.push_back({.fd = bell_->descriptor(), .events = POLLIN, .revents = 0});
            int last = 0;
            for (const auto& s : sessions_) {
                if (!s->busy()) continue;
                last = s->arm();
                if (last < 0) break;
                watched_.push_back({.fd = last, .events = POLLIN, .revents = 0});
            }
            if (last < 0) {
                for (const auto& s : sessions_) s->disarm();
                return last == any_session::has_moved;
            }
        }
        if (bell_->begin_sleep_elsewhere())
            ::poll(watched_.data(), static_cast<nfds_t>(watched_.size()), static_cast<int>(options_.tick_ms));
        bell_->end_sleep_elsewhere();
        const std::scoped_lock lock(mutex_);
        for (const auto& s : sessions_) s->disarm();
        return true;
#else
        return false;
#endif
    }
    void run() {
        std::uint32_t idle = 0;
        bool slept = false;
        for (std::uint32_t turn = 0;; ++turn) {
            bool moved = false;
            bell_->clear(); // operations started after this ring again; the loop below sees earlier ones
            if (stopping_.load(std::memory_order_relaxed)) return;
            // Deadlines are looked at now and then, even in heavy traffic.
            if (!progress(std::exchange(slept, false) || turn % 64 == 63, moved) && !moved) {
                bell_->wait();
                idle = 0;
                continue;
            }
            idle = moved ? 0 : idle + 1;
            if (idle >= options_.polls && sleep_on_descriptors()) {
                slept = true;
                continue;
            }
            std::this_thread::yield(); // a short nap alone may not give the processor away
            if (idle >= options_.polls)
                std::this_thread::sleep_for(std::chrono::microseconds(
                    std::min<std::uint64_t>(options_.longest_nap_us, 1 + (idle - options_.polls) / 4)));
        }
    }

    progress_thread_options options_;
    std::uint32_t forks_ = detail::forks();
#if __has_include(<poll.h>)
    std::shared_ptr<detail::polled_bell> bell_ = std::make_shared<detail::polled_bell>();
#else
    std::shared_ptr<progress_bell> bell_ = std::make_shared<progress_bell>();
#endif
    std::mutex mutex_; // guards sessions_
    std::vector<std::unique_ptr<any_session>> sessions_;
#if __has_include(<poll.h>)
    std::vector<pollfd> watched_; // used by the thread only
    std::vector<pollfd> roomier_; // has room for all sessions, if watched_ has not
#endif
    std::atomic<bool> stopping_{false};
    std::thread thread_; // last: it uses all the others
};

} // namespace bough

#endif
