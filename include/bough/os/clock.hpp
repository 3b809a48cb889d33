// SPDX-License-Identifier: BSL-1.0
// The clock of all transports and launchers that have an operating system: monotonic, in
// nanoseconds, and the same for all processes of a machine.
#ifndef BOUGH_OS_CLOCK_HPP
#define BOUGH_OS_CLOCK_HPP

#include <bough/core/deadline.hpp>

#include <chrono>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

inline std::uint64_t steady_now_ns() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// For poll(): milliseconds to the deadline, rounded up; -1 if it never comes.
inline int milliseconds_until(std::uint64_t deadline_ns) noexcept {
    if (deadline_ns == forever) return -1;
    const std::uint64_t ns = time_left(steady_now_ns(), deadline_ns);
    const std::uint64_t ms = ns / 1'000'000 + (ns % 1'000'000 != 0 ? 1 : 0);
    return ms > 1'000'000'000 ? 1'000'000'000 : static_cast<int>(ms);
}

} // namespace bough::detail

#endif
