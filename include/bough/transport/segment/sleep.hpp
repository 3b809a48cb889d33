// SPDX-License-Identifier: BSL-1.0
// How a rank sleeps on a word in shared memory until another process wakes it or a time has passed.
//
// The sleeper writes that it sleeps, looks once more for news, and then sleeps. The other side
// changes something, and then looks whether somebody sleeps. Each side must see what the other has
// written. Usually that costs a full barrier on both sides. Here the busy side pays none: the
// sleeper lets the kernel run a barrier on every core where a rank runs (membarrier). If the kernel
// cannot do that, a wake-up may be lost, so naps are short then.
#ifndef BOUGH_TRANSPORT_SEGMENT_SLEEP_HPP
#define BOUGH_TRANSPORT_SEGMENT_SLEEP_HPP

#include <bough/core/config.hpp>
#include <bough/core/relax.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/slots.hpp>

#include <climits>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace bough::inline BOUGH_ABI::detail {

// Lets this process take part in the barriers of others and make its own. False: the kernel has no
// membarrier.
inline bool register_barriers() noexcept {
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

// Values of the word.
inline constexpr std::uint32_t sleeps = 1; // the owner sleeps on the word itself
// It sleeps in a loop of its own: a ring is a byte on its lifeline.
inline constexpr std::uint32_t wants_a_ring = 2;

// Sleeps until `word` is 0 or `most_ns` have passed, unless `ready()` holds. Pre: only this thread
// sleeps on the word.
template <class F>
void sleep_on(std::atomic<std::uint32_t>& word, std::uint64_t most_ns, bool has_barriers, F&& ready) noexcept {
    word.store(sleeps, std::memory_order_seq_cst);
    if (has_barriers)
        ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    else
        most_ns = std::min<std::uint64_t>(most_ns, 500'000);
    if (!ready()) {
        const timespec limit{static_cast<time_t>(most_ns / 1'000'000'000), static_cast<long>(most_ns % 1'000'000'000)};
        ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, sleeps, &limit, nullptr, 0);
    }
    word.store(0, std::memory_order_relaxed);
}

// Asks for a ring. False: it did not, because `ready()` holds. Pre: the kernel has barriers.
template <class F>
bool ask_for_ring(std::atomic<std::uint32_t>& word, F&& ready) noexcept {
    word.store(wants_a_ring, std::memory_order_seq_cst);
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    if (!ready()) return true;
    word.store(0, std::memory_order_relaxed);
    return false;
}

// How a rank waits for others. If every rank can have a core of its own, it first spins. Then it
// yields. After `yields_ns` without news it sleeps until somebody has something for it, but at most
// 5 ms at a time, so that it notices the death of a peer.
class shared_patience {
public:
    shared_patience() = default;
    shared_patience(bool oversubscribed, bool has_barriers, std::uint64_t yields_ns = 4'000'000) noexcept
        : spins_(oversubscribed ? 1 : 500), has_barriers_(has_barriers), yields_ns_(yields_ns) {}

    bool has_barriers() const noexcept { return has_barriers_; }
    // Something has happened.
    void renew() noexcept { idle_since_ns_ = 0; }
    void renew(std::uint64_t yields_ns) noexcept {
        yields_ns_ = yields_ns;
        renew();
    }
    // How long nothing had happened when it last looked for dead peers, which it does every 2 ms
    // and after each sleep. Counted from when it first read the clock. 0: it has not looked yet.
    std::uint64_t idle_ns() const noexcept { return idle_since_ns_ == 0 ? 0 : looked_ns_ - idle_since_ns_; }
    // Waits, for the `idle`-th time in a row without news; may return early. `look()` finds out
    // which peers have died. `leaving` counts the dead that have not been reported to the caller.
    // `ready()`: there is news after all.
    template <class Ready, class Look>
    void wait(std::uint32_t idle, std::uint64_t deadline_ns, std::atomic<std::uint32_t>& word,
              const std::uint32_t& leaving, Ready&& ready, Look&& look) {
        if (idle <= spins_) {
            if (idle > 16) relax();
            return;
        }
        if ((idle & 3) != 0) return std::this_thread::yield();
        const std::uint64_t now = steady_now_ns();
        if (idle_since_ns_ == 0) idle_since_ns_ = looked_ns_ = now;
        if (now - looked_ns_ > 2'000'000) {
            looked_ns_ = now;
            look();
        }
        if (now - idle_since_ns_ < yields_ns_ || leaving != 0) return std::this_thread::yield();
        if (deadline_ns != 0 && deadline_ns <= now) return;
        const std::uint64_t left = deadline_ns == 0 ? longest_nap_ns : deadline_ns - now;
        sleep_on(word, std::min(left, longest_nap_ns), has_barriers_, ready);
        looked_ns_ = steady_now_ns();
        look();
    }

private:
    static constexpr std::uint64_t longest_nap_ns = 5'000'000;

    std::uint32_t spins_ = 0;
    bool has_barriers_ = false;
    std::uint64_t yields_ns_ = 0;
    std::uint64_t idle_since_ns_ = 0, looked_ns_ = 0;
};

// Wakes the owner of a word. False: the owner does not sleep on the word, but wants a ring.
BOUGH_COLD inline bool wake(std::atomic<std::uint32_t>& word) noexcept {
    if (word.exchange(0, std::memory_order_relaxed) == wants_a_ring) return false;
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return true;
}

} // namespace bough::detail

#endif
