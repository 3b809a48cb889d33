// SPDX-License-Identifier: BSL-1.0
// The little mathematics that models need, usable in constant expressions (the functions of <cmath> are not).
#ifndef BOUGH_MODEL_MATH_HPP
#define BOUGH_MODEL_MATH_HPP

#include <bough/core/contract.hpp>

#include <bit>
#include <cstdint>
#include <limits>

namespace bough::inline BOUGH_ABI::model::detail {

// The natural logarithm, to a few units in the last place. Pre: x is positive and finite.
constexpr double natural_log(double x) {
    BOUGH_EXPECTS(x > 0 && x <= std::numeric_limits<double>::max(), "natural_log: needs a positive finite number");
    int exponent = 0;
    if (x < std::numeric_limits<double>::min()) x *= 0x1p54, exponent -= 54; // subnormal
    // x = m * 2^exponent with m in [1, 2), then moved to [0.7, 1.4], where the series is short.
    const auto bits = std::bit_cast<std::uint64_t>(x);
    exponent += static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0x000f'ffff'ffff'ffffu) | 0x3ff0'0000'0000'0000u);
    if (m > 1.41421356237309504880) m /= 2, ++exponent;
    // ln m = 2 artanh(s), s = (m - 1) / (m + 1): an odd series in s with |s| <= 0.172.
    const double s = (m - 1) / (m + 1);
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2) sum = sum * s * s + 1.0 / k;
    // ln 2 in two parts: the product of the first and any exponent is exact.
    return exponent * 0x1.62e42fee00000p-1 + (2 * s * sum + exponent * 0x1.a39ef35793c76p-33);
}

// The square root. Pre: x is finite and not negative.
constexpr double square_root(double x) {
    BOUGH_EXPECTS(x >= 0 && x <= std::numeric_limits<double>::max(), "square_root: needs a finite number, 0 or more");
    if (x == 0) return 0;
    // Halving the exponent gives a first guess within a factor of 1.5; from any guess, one step of Newton's method lands
    // above the root, and from there every step goes down until rounding stops it.
    double root = std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) >> 1) + (std::uint64_t{1023} << 51));
    root = (root + x / root) / 2;
    for (;;) {
        const double next = (root + x / root) / 2;
        if (!(next < root)) return root;
        root = next;
    }
}

} // namespace bough::model::detail

#endif
