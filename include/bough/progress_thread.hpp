// SPDX-License-Identifier: BSL-1.0
// progress_thread: one thread that looks after the operations of any number of communicators.
//
//   bough::progress_thread helper;
//   helper.look_after(comm);          // comm is over bough::serialised{transport}
//   auto op = bough::start_allreduce(comm, x, bough::plus{});
//   helper.notify();                  // there is something to do
//   compute();                        // op goes on, and late messages are combined
//   op.wait();
// While operations are in flight it polls, with naps that grow to `longest_nap_us` as long as nothing comes. While none is,
// it sleeps until notify() and uses no processor time. It keeps the sessions of its communicators until it is destroyed.
#ifndef BOUGH_PROGRESS_THREAD_HPP
#define BOUGH_PROGRESS_THREAD_HPP

#include <bough/communicator.hpp>
#include <bough/serialised.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
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
    explicit progress_thread(progress_thread_options options = {})
        : options_(options), thread_([this] { run(); }) {}
    progress_thread(const progress_thread&) = delete;
    progress_thread& operator=(const progress_thread&) = delete;
    ~progress_thread() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
            wanted_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }

    template <class T>
    void look_after(communicator<serialised<T>>& comm) {
        const auto shared = comm.shared_session();
        {
            const std::scoped_lock lock(mutex_);
            sessions_.push_back(std::make_unique<looked_after<session<serialised<T>>>>(shared));
            wanted_ = true;
        }
        wake_.notify_one();
    }
    // Operations have been started. Cheap; a call too many does no harm. Any thread.
    void notify() {
        {
            const std::scoped_lock lock(mutex_);
            if (wanted_) return;
            wanted_ = true;
        }
        wake_.notify_one();
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

    void run() {
        std::unique_lock lock(mutex_);
        std::uint32_t idle = 0;
        while (!stopping_) {
            bool moved = false;
            std::size_t outstanding = 0;
            for (const auto& s : sessions_) {
                moved |= s->progress();
                outstanding += s->outstanding();
            }
            if (outstanding == 0 && !moved) {
                wanted_ = false;
                wake_.wait(lock, [this] { return wanted_; });
                idle = 0;
                continue;
            }
            idle = moved ? 0 : idle + 1;
            if (idle % 64 == 63)
                for (const auto& s : sessions_) s->check_deadlines();
            lock.unlock();
            if (idle < options_.polls)
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(
                    std::min<std::uint64_t>(options_.longest_nap_us, std::uint64_t{1} + (idle - options_.polls) / 4)));
            lock.lock();
        }
    }

    progress_thread_options options_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::unique_ptr<any_session>> sessions_;
    bool wanted_ = true, stopping_ = false;
    std::thread thread_; // starts when all else is there
};

} // namespace bough

#endif
