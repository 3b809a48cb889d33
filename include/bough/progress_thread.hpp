// SPDX-License-Identifier: BSL-1.0
// progress_thread: one thread that looks after the operations of any number of communicators.
//
//   bough::progress_thread helper;
//   helper.look_after(comm);          // comm is over bough::serialised{transport}
//   auto op = bough::start_allreduce(comm, x, bough::plus{});
//   compute();                        // op goes on, and late messages are combined
//   op.wait();
// While operations are in flight it polls, with naps that grow to `longest_nap_us` as long as nothing comes. While none is,
// it sleeps until one is started, and uses no processor time. It ends operations whose time is up. Ops of users run in it. It
// keeps the sessions of its communicators until leave(), or until it is destroyed; operations in flight go on then with
// whoever polls.
#ifndef BOUGH_PROGRESS_THREAD_HPP
#define BOUGH_PROGRESS_THREAD_HPP

#include <bough/communicator.hpp>
#include <bough/core/contract.hpp>
#include <bough/serialised.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bough {

struct progress_thread_options {
    std::uint32_t polls = 100;          // with nothing found, before the first nap
    std::uint32_t longest_nap_us = 100; // what a message may wait for this thread, about
};

class progress_thread {
public:
    explicit progress_thread(progress_thread_options options = {}) : options_(options), thread_([this] { run(); }) {}
    progress_thread(const progress_thread&) = delete;
    progress_thread& operator=(const progress_thread&) = delete;
    ~progress_thread() {
        stopping_.store(true, std::memory_order_relaxed);
        bell_->ring();
        thread_.join();
        for (const auto& s : sessions_) s->set_bell(nullptr);
    }

    // Looks after all operations over this communicator's transport. It counts how often: communicators that share one may
    // each be given. Pre: no other progress_thread looks after that transport.
    template <class T>
    void look_after(const communicator<serialised<T>>& comm) {
        using shared_session = session<serialised<T>>;
        const std::shared_ptr<shared_session>& shared = comm.shared_session();
        {
            const std::scoped_lock lock(mutex_);
            if (const auto known = find(shared.get()); known != sessions_.end()) {
                ++(*known)->times;
                return;
            }
            auto made = std::make_unique<looked_after<shared_session>>(shared);
            BOUGH_EXPECTS(made->bell() == nullptr, "look_after: another progress_thread looks after this transport");
            sessions_.push_back(std::move(made));
            sessions_.back()->set_bell(bell_);
        }
        bell_->ring();
    }
    // Ends what one look_after() of a communicator over this transport began. Does nothing if there was none. From its return
    // on, if it was the last, the helper does not touch the session.
    template <class T>
    void leave(const communicator<serialised<T>>& comm) {
        std::unique_ptr<any_session> gone; // ends after the lock
        const std::scoped_lock lock(mutex_);
        const auto known = find(comm.shared_session().get());
        if (known == sessions_.end() || --(*known)->times != 0) return;
        gone = std::move(*known);
        sessions_.erase(known);
        gone->set_bell(nullptr);
    }

    // The thread's own clock, for measurements: std::thread::native_handle.
    std::thread::native_handle_type native_handle() { return thread_.native_handle(); }

private:
    struct any_session {
        virtual ~any_session() = default;
        virtual bool progress() = 0;
        virtual bool busy() const = 0;
        virtual void check_deadlines() = 0;
        virtual void set_bell(std::shared_ptr<progress_bell>) = 0;
        virtual const void* identity() const noexcept = 0;
        std::size_t times = 1; // that it was given
    };
    template <class S>
    struct looked_after final : any_session {
        explicit looked_after(std::shared_ptr<S> s) : shared(std::move(s)) {}
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
    };
    std::vector<std::unique_ptr<any_session>>::iterator find(const void* identity) noexcept {
        return std::find_if(sessions_.begin(), sessions_.end(),
                            [&](const auto& s) { return s->identity() == identity; });
    }

    // Is there anything to do? `moved`: has something happened?
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
    void run() {
        std::uint32_t idle = 0;
        for (std::uint32_t turn = 0; !stopping_.load(std::memory_order_relaxed); ++turn) {
            bool moved = false;
            bell_->clear(); // what is started from here on rings again
            if (!progress(turn % 64 == 63, moved) && !moved) { // deadlines pass, whatever the traffic
                bell_->wait();
                idle = 0;
                continue;
            }
            idle = moved ? 0 : idle + 1;
            if (idle < options_.polls)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(
                    std::min<std::uint64_t>(options_.longest_nap_us, 1 + (idle - options_.polls) / 4)));
        }
    }

    progress_thread_options options_;
    std::shared_ptr<progress_bell> bell_ = std::make_shared<progress_bell>();
    std::mutex mutex_; // of sessions_
    std::vector<std::unique_ptr<any_session>> sessions_;
    std::atomic<bool> stopping_{false};
    std::thread thread_; // starts when all else is there
};

} // namespace bough

#endif
