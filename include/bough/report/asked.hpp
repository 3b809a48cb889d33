// SPDX-License-Identifier: BSL-1.0
// Asked: counts the signals by which somebody outside asks a program for reports.
//
// The handler only counts. Communicators look at the count while they wait. A handler that the program
// had installed before is called, too.
#ifndef BOUGH_REPORT_ASKED_HPP
#define BOUGH_REPORT_ASKED_HPP

#include <bough/core/config.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct asked_by_signal {
    using handler = void (*)(int);
    std::atomic<std::uint32_t> count{0};
    std::atomic<bool> is_installed{false};
    std::atomic<handler> before{nullptr};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a signal handler counts");

inline std::array<asked_by_signal, 65> asked_by_signals{};

inline void count_signal(int signal) {
    asked_by_signal& its = asked_by_signals[static_cast<std::size_t>(signal)];
    its.count.fetch_add(1, std::memory_order_relaxed);
    const asked_by_signal::handler before = its.before.load(std::memory_order_relaxed);
    if (before != nullptr) before(signal);
}

inline std::uint32_t reports_asked(int signal) noexcept {
    return asked_by_signals[static_cast<std::size_t>(signal)].count.load(std::memory_order_relaxed);
}
// From now on the signal is counted; `so_far`: the count. False: a program cannot handle it.
inline bool listen_for_reports(int signal, std::uint32_t& so_far) noexcept {
    if (signal <= 0 || static_cast<std::size_t>(signal) >= asked_by_signals.size()) return false;
    asked_by_signal& its = asked_by_signals[static_cast<std::size_t>(signal)];
    if (!its.is_installed.exchange(true)) {
        const asked_by_signal::handler before = std::signal(signal, &count_signal);
        if (before == SIG_ERR) return its.is_installed = false;
        if (before != SIG_DFL && before != SIG_IGN && before != &count_signal) its.before = before;
    }
    so_far = its.count.load(std::memory_order_relaxed);
    return true;
}

} // namespace bough::detail

#endif
