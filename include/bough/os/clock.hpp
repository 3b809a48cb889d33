// SPDX-License-Identifier: BSL-1.0
// The one clock of the hosted transports and launchers: monotonic, in nanoseconds, the same for all processes of a machine.
#ifndef BOUGH_OS_CLOCK_HPP
#define BOUGH_OS_CLOCK_HPP

#include <bough/core/deadline.hpp>

#include <cstdint>
#include <time.h>

namespace bough::detail {

inline std::uint64_t steady_now_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
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
