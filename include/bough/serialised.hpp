// SPDX-License-Identifier: BSL-1.0
// serialised: a transport whose session may be used by several threads: each call of the session locks it.
//
//   bough::communicator comm{bough::serialised{std::move(transport)}};
//   bough::progress_thread helper;                       // bough/progress_thread.hpp
//   helper.look_after(comm);                             // its operations go on by themselves
// A communicator and its operations are used by one thread at a time still; the helper, and other communicators over the same
// transport, may be at work in other threads. Costs a lock, not contended as a rule, in every start and every poll. While
// a thread waits it naps outside of the lock, so it does not use the inner transport's way of waiting.
#ifndef BOUGH_SERIALISED_HPP
#define BOUGH_SERIALISED_HPP

#include <bough/concepts/transport.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

namespace bough {

// Wakes a progress_thread (bough/progress_thread.hpp).
class progress_bell {
public:
    void ring() {
        {
            const std::scoped_lock lock(mutex_);
            if (rung_) return;
            rung_ = true;
        }
        wake_.notify_one();
    }
    void clear() {
        const std::scoped_lock lock(mutex_);
        rung_ = false;
    }
    void wait() { // until it has rung since clear()
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return rung_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable wake_;
    bool rung_ = false;
};

template <Transport T>
class serialised {
public:
    using session_mutex = std::recursive_mutex; // bough/execute/session_mutex.hpp

    explicit serialised(T inner) : inner_(std::move(inner)) {}

    rank_t rank() const noexcept { return inner_.rank(); }
    rank_t size() const noexcept { return inner_.size(); }
    std::uint32_t cores() const noexcept requires requires(const T& t) { t.cores(); }
    { return inner_.cores(); }
    auto default_costs() const noexcept requires requires(const T& t) { t.default_costs(); }
    { return inner_.default_costs(); }
    double switch_ns() const noexcept requires requires(const T& t) { t.switch_ns(); }
    { return inner_.switch_ns(); }
    bool forked() const noexcept requires requires(const T& t) { t.forked(); }
    { return inner_.forked(); }
    std::uint64_t now_ns() const noexcept { return inner_.now_ns(); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return inner_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return inner_.poll(events); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return inner_.take(handle, into, id);
    }
    bool claim(std::uint64_t handle) requires InPlaceTransport<T> { return inner_.claim(handle); }
    void release(std::uint64_t handle) { inner_.release(handle); }
    errc cancel(std::uint64_t id) { return inner_.cancel(id); }

    // Called without the lock.
    void wait(std::uint32_t idle, std::uint64_t) const {
        if (idle < 200)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

    // An operation has been started, and has not ended at once.
    void operation_started() {
        if (bell_) bell_->ring();
    }
    // Pre: no other thread uses this yet, or the one that does is a progress_thread.
    void set_bell(std::shared_ptr<progress_bell> bell) noexcept { bell_ = std::move(bell); }
    T& inner() noexcept { return inner_; } // lock the session, or have no operation in flight

private:
    T inner_;
    std::shared_ptr<progress_bell> bell_;
};

} // namespace bough

#endif
