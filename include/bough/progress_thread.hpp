// SPDX-License-Identifier: BSL-1.0
// progress_thread: one thread that looks after the operations of any number of communicators.
//
//   bough::progress_thread helper;
//   helper.look_after(comm);          // comm is over bough::serialised{transport}
//   auto op = bough::start_allreduce(comm, x, bough::plus{});
//   compute();                        // op goes on, and late messages are combined
//   op.wait();
// While operations are in flight it polls, with naps that grow to `longest_nap_us` as long as nothing comes. While none is,
// it sleeps until one is started, and uses no processor time. It keeps the sessions of its communicators until it is destroyed.
#ifndef BOUGH_PROGRESS_THREAD_HPP
#define BOUGH_PROGRESS_THREAD_HPP

#include <bough/communicator.hpp>
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
    }

    // Pre: no other thread uses a communicator over this one's transport at the moment.
    template <class T>
    void look_after(communicator<serialised<T>>& comm) {
        using shared_session = session<serialised<T>>;
        const std::shared_ptr<shared_session>& shared = comm.shared_session();
        {
            const std::scoped_lock lock(mutex_);
            sessions_.push_back(std::make_unique<looked_after<shared_session>>(shared));
        }
        shared->transport().set_bell(bell_);
        bell_->ring();
    }

    // The thread's own clock, for measurements: std::thread::native_handle.
    std::thread::native_handle_type native_handle() { return thread_.native_handle(); }

private:
    struct any_session {
        virtual ~any_session() = default;
        virtual bool progress() = 0;
        virtual std::size_t outstanding() const = 0;
        virtual void check_deadlines() = 0;
    };
    template <class S>
    struct looked_after final : any_session {
        explicit looked_after(std::shared_ptr<S> s) : shared(std::move(s)) {}
        bool progress() override { return shared->progress(); }
        std::size_t outstanding() const override { return shared->outstanding(); }
        void check_deadlines() override { shared->check_deadlines(); }
        std::shared_ptr<S> shared;
    };

    // Is an operation in flight? `moved`: has something happened?
    bool progress(bool look_at_deadlines, bool& moved) {
        const std::scoped_lock lock(mutex_);
        bool outstanding = false;
        for (const auto& s : sessions_) {
            moved |= s->progress();
            if (look_at_deadlines) s->check_deadlines();
            outstanding |= s->outstanding() != 0;
        }
        return outstanding;
    }
    void run() {
        for (std::uint32_t idle = 0; !stopping_.load(std::memory_order_relaxed);) {
            bool moved = false;
            bell_->clear(); // what is started from here on rings again
            if (!progress(idle % 64 == 63, moved) && !moved) {
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
