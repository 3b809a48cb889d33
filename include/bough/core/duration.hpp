// SPDX-License-Identifier: BSL-1.0
// Durations: lengths of time as programs have them, std::chrono's for example, without including <chrono>.
//
//   comm.set_timeout(std::chrono::seconds(5));
//   op.wait_for(10ms);
#ifndef BOUGH_CORE_DURATION_HPP
#define BOUGH_CORE_DURATION_HPP

#include <bough/core/deadline.hpp>

#include <concepts>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// A number of periods of num / den seconds: std::chrono::duration, or one that is made like it.
template <class D>
concept Duration = requires(const D& d) {
    { D::period::num } -> std::convertible_to<std::int64_t>;
    { D::period::den } -> std::convertible_to<std::int64_t>;
    requires std::integral<decltype(d.count())> || std::floating_point<decltype(d.count())>;
};

// In whole nanoseconds, rounded down: 0 for what is less than one, `forever` for what is longer
// than 64 bits can say.
template <Duration D>
constexpr std::uint64_t nanoseconds_of(const D& d) noexcept {
    constexpr auto num = static_cast<std::uint64_t>(D::period::num), den = static_cast<std::uint64_t>(D::period::den);
    constexpr std::uint64_t second = 1'000'000'000;
    const auto count = d.count();
    if (!(count > 0)) return 0;
    // In whole numbers unless the period is such that they would overflow: centuries, or fractions of them.
    constexpr bool exact = den <= forever / second / num, divides = den >= second && num <= forever / second / 2;
    if constexpr (std::floating_point<decltype(d.count())> || !(exact || divides)) {
        const long double ns = static_cast<long double>(count) * second * num / den;
        return ns < 18446744073709551615.0L ? static_cast<std::uint64_t>(ns) : forever;
    } else {
        // Whole seconds, then the rest, so that nothing but too long a time overflows.
        const auto n = static_cast<std::uint64_t>(count);
        if (n / den > forever / num / second) return forever;
        const std::uint64_t whole = n / den * num * second, rest = n % den;
        std::uint64_t part = 0;
        if constexpr (exact)
            part = rest * num * second / den;
        else
            part = rest / (den / second) * num;
        return whole > forever - part ? forever : whole + part;
    }
}

} // namespace bough

#endif
