// SPDX-License-Identifier: BSL-1.0
// Another way to the results of short floating formats: values in double, and one rounding done with ldexp and nearbyint.
//
// Sums of two halves are exact in double: 40 bits. Those of bfloat16 need not be, but 53 digits are more than 2 * 8 + 2,
// so rounding twice is rounding once (S. A. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
#ifndef BOUGH_TEST_OP_SOFT_ORACLE_HPP
#define BOUGH_TEST_OP_SOFT_ORACLE_HPP

#include <algorithm>
#include <cmath>
#include <limits>

namespace test {

// F: only the widths of its fields are used, and its word.
template <class F>
struct oracle {
    using word = typename F::word;
    static constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
    static constexpr int fraction = static_cast<int>(F::fraction_bits);
    static constexpr word nan = static_cast<word>(((2u << F::exponent_bits) - 1) << (F::fraction_bits - 1));

    static double value(word x) {
        const double sign = x >> (F::bits - 1) != 0 ? -1.0 : 1.0;
        const int exponent = static_cast<int>(x >> F::fraction_bits) & ((1 << F::exponent_bits) - 1);
        const int digits = static_cast<int>(x) & ((1 << fraction) - 1);
        if (exponent == (1 << F::exponent_bits) - 1) {
            return digits != 0 ? std::numeric_limits<double>::quiet_NaN()
                               : sign * std::numeric_limits<double>::infinity();
        }
        if (exponent == 0) return sign * std::ldexp(digits, 1 - bias - fraction);
        return sign * std::ldexp(digits + (1 << fraction), exponent - bias - fraction);
    }
    static word bits(double x) {
        if (x != x) return nan;
        const unsigned sign = std::signbit(x) ? 1u << (F::bits - 1) : 0;
        const unsigned top = (1u << F::exponent_bits) - 1;
        x = std::fabs(x);
        if (x == 0) return static_cast<word>(sign);
        if (std::isinf(x)) return static_cast<word>(sign | top << F::fraction_bits);
        int exponent = std::max(std::ilogb(x), 1 - bias);
        double digits = std::nearbyint(std::ldexp(x, fraction - exponent));
        if (digits == std::ldexp(1, fraction + 1)) digits /= 2, ++exponent;
        if (exponent > bias) return static_cast<word>(sign | top << F::fraction_bits);
        const bool normal = digits >= std::ldexp(1, fraction);
        const auto low = static_cast<unsigned>(digits) & ((1u << fraction) - 1);
        return static_cast<word>(sign | (normal ? static_cast<unsigned>(exponent + bias) : 0) << F::fraction_bits |
                                 low);
    }

    static word add(word a, word b) { return bits(value(a) + value(b)); }
    static bool before(double x, double y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); }
    static word minimum(word a, word b) {
        const double x = value(a), y = value(b);
        return x != x || y != y ? nan : before(x, y) ? a : b;
    }
    static word maximum(word a, word b) {
        const double x = value(a), y = value(b);
        return x != x || y != y ? nan : before(x, y) ? b : a;
    }
    static word minimum_number(word a, word b) {
        const double x = value(a), y = value(b);
        return x != x ? (y != y ? nan : b) : y != y ? a : minimum(a, b);
    }
    static word maximum_number(word a, word b) {
        const double x = value(a), y = value(b);
        return x != x ? (y != y ? nan : b) : y != y ? a : maximum(a, b);
    }
};

} // namespace test

#endif
