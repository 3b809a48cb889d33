// SPDX-License-Identifier: BSL-1.0
// Times and deadlines: nanoseconds as 64-bit numbers, on a clock that the caller reads. Arithmetic only.
//
//   const std::uint64_t last = bough::deadline_after(link.now_ns(), timeout_ns);     // timeout_ns may be bough::forever
//   while (!done() && link.now_ns() < last) ...
#ifndef BOUGH_CORE_DEADLINE_HPP
#define BOUGH_CORE_DEADLINE_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

// A length of time without an end, and the time at which it ends: later than any that a clock shows.
inline constexpr std::uint64_t forever = ~std::uint64_t{0};

// When `timeout_ns` from `now_ns` on is over; `forever` if that is beyond all times: nothing wraps.
constexpr std::uint64_t deadline_after(std::uint64_t now_ns, std::uint64_t timeout_ns) noexcept {
    return timeout_ns < forever - now_ns ? now_ns + timeout_ns : forever;
}

// How long it is until the deadline: 0 once it has passed, `forever` if it never does.
constexpr std::uint64_t time_left(std::uint64_t now_ns, std::uint64_t deadline_ns) noexcept {
    if (deadline_ns == forever) return forever;
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

} // namespace bough

#endif
