// SPDX-License-Identifier: BSL-1.0
// serialised: a transport whose session may be used by several threads: each call of the session locks it.
//
//   bough::communicator comm{bough::serialised{std::move(transport)}};
//   bough::progress_thread helper;                       // bough/progress_thread.hpp
//   helper.look_after(comm);                             // its operations go on by themselves
// A communicator and its operations are used by one thread at a time still; the helper, and other communicators over the same
// transport, may be at work in other threads. Whichever thread polls, combines: so an op runs in any of them, but in one at a
// time, under the session's lock: it must not wait for another thread that uses the session. Costs a lock, not contended as
// a rule, in every start and every poll. While a thread waits it naps outside of the lock, so it does not use the inner
// transport's way of waiting.
#ifndef BOUGH_SERIALISED_HPP
#define BOUGH_SERIALISED_HPP

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
class serialised : public forwarding_transport<T> {
public:
    using session_mutex = std::recursive_mutex; // bough/execute/session_mutex.hpp

    using forwarding_transport<T>::forwarding_transport;

    // Called without the lock.
    void wait(std::uint32_t idle, std::uint64_t) const {
        if (idle < 200)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

    // For a progress_thread. These three within with_lock of the session.
    void set_bell(std::shared_ptr<progress_bell> bell) noexcept { bell_ = std::move(bell); }
    const std::shared_ptr<progress_bell>& bell() const noexcept { return bell_; }
    // An operation has been started, and has not ended at once.
    void operation_started() {
        if (bell_) bell_->ring();
    }
    T& inner() noexcept { return this->inner_; } // lock the session, or have no operation in flight

private:
    std::shared_ptr<progress_bell> bell_;
};

template <class T>
serialised(T) -> serialised<T>;

} // namespace bough

#endif
