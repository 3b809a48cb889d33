// SPDX-License-Identifier: BSL-1.0
// A signed integer of any length, and doubles and floats as multiples of 2^-1074: the reference for exact sums.
#ifndef BOUGH_TEST_OP_BIG_INTEGER_HPP
#define BOUGH_TEST_OP_BIG_INTEGER_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace test {

// Sign and decimal-school magnitude in 32-bit digits, lowest first, no leading zeros.
struct big_integer {
    bool negative = false;
    std::vector<std::uint32_t> digits;

    static int compare_magnitudes(const big_integer& a, const big_integer& b) {
        if (a.digits.size() != b.digits.size()) return a.digits.size() < b.digits.size() ? -1 : 1;
        for (std::size_t i = a.digits.size(); i-- != 0;)
            if (a.digits[i] != b.digits[i]) return a.digits[i] < b.digits[i] ? -1 : 1;
        return 0;
    }
    static int compare(const big_integer& a, const big_integer& b) {
        if (a.negative != b.negative) return a.negative ? -1 : 1;
        return a.negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
    }
    friend big_integer operator-(big_integer a) {
        a.negative = !a.negative && !a.digits.empty();
        return a;
    }
    friend big_integer operator+(const big_integer& a, const big_integer& b) {
        big_integer r;
        if (a.negative == b.negative) {
            std::uint64_t carry = 0;
            for (std::size_t i = 0; i < std::max(a.digits.size(), b.digits.size()) || carry != 0; ++i) {
                carry += i < a.digits.size() ? a.digits[i] : 0;
                carry += i < b.digits.size() ? b.digits[i] : 0;
                r.digits.push_back(static_cast<std::uint32_t>(carry));
                carry >>= 32;
            }
            r.negative = a.negative;
        } else {
            const bool a_larger = compare_magnitudes(a, b) >= 0;
            const big_integer& large = a_larger ? a : b;
            const big_integer& small = a_larger ? b : a;
            std::int64_t borrow = 0;
            for (std::size_t i = 0; i != large.digits.size(); ++i) {
                borrow += static_cast<std::int64_t>(large.digits[i]);
                borrow -= i < small.digits.size() ? static_cast<std::int64_t>(small.digits[i]) : 0;
                r.digits.push_back(static_cast<std::uint32_t>(borrow));
                borrow = borrow < 0 ? -1 : 0;
            }
            r.negative = large.negative;
        }
        while (!r.digits.empty() && r.digits.back() == 0) r.digits.pop_back();
        if (r.digits.empty()) r.negative = false;
        return r;
    }
    friend big_integer operator-(const big_integer& a, const big_integer& b) { return a + -b; }
    friend bool operator==(const big_integer&, const big_integer&) = default;

    // value / 2^-1074. Pre: finite.
    static big_integer of(double value) {
        int exponent = 0;
        const double fraction = std::frexp(std::fabs(value), &exponent);
        return power(std::ldexp(fraction, 53), exponent - 53 + 1074, value < 0);
    }
    // integer * 2^exponent. Pre: a negative exponent shifts out zeros only.
    static big_integer power(double integer, int exponent, bool negative) {
        auto m = static_cast<std::uint64_t>(integer);
        for (; exponent < 0; ++exponent) m /= 2;
        big_integer r;
        for (; m != 0; m /= 2, ++exponent) {
            if (m % 2 == 0) continue;
            r.digits.resize(std::max(r.digits.size(), static_cast<std::size_t>(exponent / 32 + 1)), 0);
            r.digits[static_cast<std::size_t>(exponent / 32)] |= std::uint32_t{1} << (exponent % 32);
        }
        r.negative = negative && !r.digits.empty();
        return r;
    }
};

// Is `result` the number of T nearest to `sum` times 2^-1074, of two equally near ones the even one? T's neighbours
// decide; the first number beyond the largest is 2^max_exponent.
template <class T>
bool correctly_rounded(const big_integer& sum, T result) {
    using limits = std::numeric_limits<T>;
    const auto value = [](T x) {
        if (std::isinf(x)) return big_integer::power(1, limits::max_exponent + 1074, x < 0);
        return big_integer::of(static_cast<double>(x));
    };
    const auto magnitude = [](big_integer x) {
        x.negative = false;
        return x;
    };
    if (result != result) return false;
    const big_integer distance = magnitude(sum - value(result));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &result, sizeof(T));
    const bool odd = bits % 2 != 0;
    for (const T beside : {std::nextafter(result, -limits::infinity()), std::nextafter(result, limits::infinity())}) {
        if (beside == result) continue;
        const int order = big_integer::compare_magnitudes(distance, magnitude(sum - value(beside)));
        if (order > 0 || (order == 0 && odd)) return false;
    }
    return true;
}

} // namespace test

#endif
