// SPDX-License-Identifier: BSL-1.0
// serialised: a transport whose session several threads may use, because each call of the session
// locks it.
//
//   bough::communicator comm{bough::serialised{std::move(transport)}};
//   bough::progress_thread helper;                       // bough/progress/thread.hpp
//   helper.look_after(comm);                             // its operations go on by themselves
//
// A communicator and its operations must still be used by one thread at a time. Meanwhile the
// helper, and other communicators over the same transport, may be at work in other threads.
// Whichever thread polls also combines. So an op may run in any of them, though in one at a time.
// It runs under the session's lock, and must not wait for another thread that uses the session.
// Every start and every poll costs one lock, normally uncontended. A thread that waits naps outside
// of the lock, so it does not use the inner transport's way of waiting.
#ifndef BOUGH_TRANSPORT_SERIALISED_HPP
#define BOUGH_TRANSPORT_SERIALISED_HPP

#include <bough/concepts/forwarding_transport.hpp>
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

namespace bough::inline BOUGH_ABI {

// Wakes a progress_thread (bough/progress/thread.hpp).
class progress_bell {
public:
    virtual ~progress_bell() = default;
    void ring() {
        {
            const std::scoped_lock lock(mutex_);
            if (rung_) return;
            rung_ = true;
            if (sleeps_elsewhere_) wake_elsewhere();
        }
        wake_.notify_one();
    }
    void clear() {
        const std::scoped_lock lock(mutex_);
        rung_ = false;
    }
    // Call this before sleeping elsewhere than in wait(): ring() then wakes the sleeper there.
    // False: it has rung since clear(), so do not sleep.
    bool begin_sleep_elsewhere() {
        const std::scoped_lock lock(mutex_);
        return sleeps_elsewhere_ = !rung_;
    }
    void end_sleep_elsewhere() {
        const std::scoped_lock lock(mutex_);
        if (std::exchange(sleeps_elsewhere_, false) && rung_) woken_elsewhere();
    }
    void wait() { // until it has rung since clear()
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return rung_; });
    }

private:
    virtual void wake_elsewhere() noexcept {}
    virtual void woken_elsewhere() noexcept {} // after each wake_elsewhere()

    std::mutex mutex_;
    std::condition_variable wake_;
    bool rung_ = false, sleeps_elsewhere_ = false;
};

template <Transport T>
class serialised : public forwarding_transport<T> {
public:
    using session_mutex = std::recursive_mutex; // bough/session/mutex.hpp

    using forwarding_transport<T>::forwarding_transport;

    // Called without the lock.
    void wait(std::uint32_t idle, std::uint64_t) const {
        std::this_thread::yield(); // a short nap alone may not give the processor away
        if (idle >= 200) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        wake_sleeper();
        return this->inner_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = this->inner_.poll(events);
        if (found != 0) wake_sleeper();
        return found;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        wake_sleeper();
        return this->inner_.take(handle, into, id);
    }
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) requires PiecewiseTransport<T> {
        wake_sleeper();
        return this->inner_.take_pieces(handle, grain, id);
    }
    void release(std::uint64_t handle) {
        wake_sleeper();
        this->inner_.release(handle);
    }
    errc cancel(std::uint64_t id) {
        wake_sleeper();
        return this->inner_.cancel(id);
    }
    // Ranks that come late: the memory is looked at within the session's lock.
    std::uint64_t common_bytes() const noexcept requires SharesMemory<T> { return this->inner_.common_bytes(); }
    std::span<std::byte> common(rank_t owner, std::uint64_t offset, std::uint64_t bytes) requires SharesMemory<T> {
        return this->inner_.common(owner, offset, bytes);
    }
    void wake(rank_t peer) requires SharesMemory<T> { this->inner_.wake(peer); }
    void flush() requires GatheringTransport<T> {
        if (!asleep_ || !this->inner_.unsent()) return this->inner_.flush();
        const std::uint64_t before = handed_over_to_all();
        this->inner_.flush();
        // An operation that this ends makes no descriptor readable.
        if (handed_over_to_all() != before) wake_sleeper();
    }

    // For a progress_thread. The next four are called within with_lock of the session.
    void set_bell(std::shared_ptr<progress_bell> bell) noexcept { bell_ = std::move(bell); }
    const std::shared_ptr<progress_bell>& bell() const noexcept { return bell_; }
    // An operation has been started and has not ended at once, or something is left to be sent.
    void operation_started() {
        if (bell_) bell_->ring();
    }
    // The progress_thread sleeps until the inner transport's descriptor is readable. The descriptor
    // does not report what other threads leave to be done: frames to be sent, events that are due.
    // So any other thread that uses the transport wakes it.
    void set_asleep(bool asleep) noexcept { asleep_ = asleep; }
    T& inner() noexcept { return this->inner_; } // lock the session, or have no operation in flight

private:
    std::uint64_t handed_over_to_all() requires GatheringTransport<T> {
        std::uint64_t all = 0;
        for (rank_t r = 0; r != this->size(); ++r)
            if (r != this->rank()) all += this->inner_.handed_over(r);
        return all;
    }
    void wake_sleeper() {
        if (std::exchange(asleep_, false) && bell_) bell_->ring();
    }

    std::shared_ptr<progress_bell> bell_;
    bool asleep_ = false;
};

template <class T>
serialised(T) -> serialised<T>;

} // namespace bough

#endif
