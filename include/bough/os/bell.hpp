// SPDX-License-Identifier: BSL-1.0
// bell: wakes a thread that sleeps in poll(), epoll or the like. The owner arms the bell before it
// sleeps, and another thread that has news for the owner rings.
//
// A thread that has changed something looks whether the bell is armed. The owner arms it and then
// looks once more for news. Both sides need a barrier for this; as in
// bough/transport/segment/sleep.hpp, the owner alone pays for both (membarrier). On systems other
// than Linux, or if the kernel has no such barrier, there is no descriptor and the bell is never
// armed.
#ifndef BOUGH_OS_BELL_HPP
#define BOUGH_OS_BELL_HPP

#include <bough/core/config.hpp>

#include <atomic>
#include <cstdint>

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace bough::inline BOUGH_ABI::detail {

class bell {
public:
    bell() = default;
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;
#if defined(__linux__)
    ~bell() { // Pre: nobody rings any more
        if (descriptor_ >= 0) ::close(descriptor_);
    }

    // --- its owner ---

    // -1: there is none.
    int descriptor() noexcept {
        if (descriptor_ == -1 && ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
            descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        return descriptor_;
    }
    // False, and not armed, if `has_news()` holds. Pre: descriptor() was not negative.
    template <class F>
    bool arm(F&& has_news) noexcept {
        armed_.store(1, std::memory_order_seq_cst);
        ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        if (!has_news()) return true;
        armed_.store(0, std::memory_order_relaxed);
        return false;
    }
    void disarm() noexcept {
        armed_.store(0, std::memory_order_relaxed);
        std::uint64_t rung = 0;
        while (::read(descriptor_, &rung, sizeof rung) == sizeof rung) {
        }
    }

    // --- others, after they have changed something ---

    void ring() noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst); // the owner has a barrier for both
        if (armed_.load(std::memory_order_relaxed) != 0) ring_aloud();
    }

private:
    BOUGH_COLD void ring_aloud() noexcept {
        const std::uint64_t once = 1;
        if (armed_.exchange(0, std::memory_order_acq_rel) != 0) (void)!::write(descriptor_, &once, sizeof once);
    }

    std::atomic<std::uint32_t> armed_{0};
    int descriptor_ = -1; // others read it after they have seen that it is armed
#else
    int descriptor() noexcept { return -1; }
    template <class F>
    bool arm(F&&) noexcept {
        return false;
    }
    void disarm() noexcept {}
    void ring() noexcept {}
#endif
};

} // namespace bough::detail

#endif
