// SPDX-License-Identifier: BSL-1.0
// Floating numbers as integers: every finite float or double is an integer multiple of its type's smallest subnormal.
//
// unpack cuts a number into sign, magnitude and the place of its lowest bit; round_to_nearest makes one from an integer
// of many words. In between, sums are integers, so their order does not matter. No floating-point arithmetic is used.
#ifndef BOUGH_OP_DETAIL_FIXED_POINT_HPP
#define BOUGH_OP_DETAIL_FIXED_POINT_HPP

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace bough::detail {

template <class T>
concept binary_float = (std::same_as<T, float> || std::same_as<T, double>)&&std::numeric_limits<T>::is_iec559;

template <binary_float T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// What a sum has seen, besides finite amounts. Merged by or.
enum sum_mark : std::uint64_t {
    seen_nan = 1,
    seen_infinity = 2,
    seen_minus_infinity = 4,
    seen_not_minus_zero = 8, // anything but -0: so only a sum of nothing but -0 is -0, as in IEEE arithmetic
};

template <binary_float T>
struct float_format {
    static constexpr unsigned digits = static_cast<unsigned>(std::numeric_limits<T>::digits);
    static constexpr unsigned fraction_bits = digits - 1;
    static constexpr unsigned max_exponent = 2 * static_cast<unsigned>(std::numeric_limits<T>::max_exponent) - 1;
    // Bits of the largest finite number as a multiple of the smallest one.
    static constexpr unsigned width = max_exponent - 2 + digits;
};

// magnitude * 2^position times the smallest subnormal.
struct unpacked {
    std::uint64_t magnitude = 0;
    unsigned position = 0;
    bool negative = false;
    std::uint64_t marks = 0;
};

template <binary_float T>
constexpr unpacked unpack(T x) noexcept {
    using format = float_format<T>;
    const std::uint64_t bits = std::bit_cast<bits_of<T>>(x);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << format::fraction_bits) - 1);
    const unsigned exponent = static_cast<unsigned>(bits >> format::fraction_bits) & format::max_exponent;
    const bool negative = (bits >> (sizeof(T) * 8 - 1)) != 0;
    if (exponent == format::max_exponent) {
        const std::uint64_t which = fraction != 0 ? seen_nan : negative ? seen_minus_infinity : seen_infinity;
        return {0, 0, negative, which | seen_not_minus_zero};
    }
    if (exponent == 0) {
        return {fraction, 0, negative, negative && fraction == 0 ? std::uint64_t{0} : seen_not_minus_zero};
    }
    return {fraction | std::uint64_t{1} << format::fraction_bits, exponent - 1, negative, seen_not_minus_zero};
}

// w[first ..] += or -= {low, high}, in two's complement modulo its length. Pre: first < N.
template <std::size_t N>
constexpr void add_at(std::array<std::uint64_t, N>& w, std::size_t first, std::uint64_t low, std::uint64_t high,
                      bool negative) noexcept {
    // Word by word until nothing is left to carry.
    std::uint64_t carry = 0;
    for (std::size_t i = first; i != N; ++i) {
        const std::uint64_t operand = i == first ? low : i == first + 1 ? high : 0;
        if (i > first + 1 && carry == 0) return;
        if (negative) {
            const std::uint64_t difference = w[i] - operand;
            const std::uint64_t borrowed = difference - carry;
            carry = (w[i] < operand ? 1u : 0u) | (difference < carry ? 1u : 0u);
            w[i] = borrowed;
        } else {
            const std::uint64_t sum = w[i] + operand;
            const std::uint64_t carried = sum + carry;
            carry = (sum < operand ? 1u : 0u) | (carried < sum ? 1u : 0u);
            w[i] = carried;
        }
    }
}

// The same for a number: its magnitude lies across two words.
template <std::size_t N>
constexpr void add_at(std::array<std::uint64_t, N>& w, const unpacked& x) noexcept {
    const unsigned shift = x.position % 64;
    add_at(w, x.position / 64, x.magnitude << shift, shift == 0 ? 0 : x.magnitude >> (64 - shift), x.negative);
}

// The number nearest to w (two's complement) times the smallest subnormal; of two equally near ones the even one.
template <binary_float T, std::size_t N>
constexpr T round_to_nearest(std::array<std::uint64_t, N> w, std::uint64_t marks) noexcept {
    using format = float_format<T>;
    using limits = std::numeric_limits<T>;
    const bool both = (marks & seen_infinity) != 0 && (marks & seen_minus_infinity) != 0;
    if ((marks & seen_nan) != 0 || both) return limits::quiet_NaN();
    if ((marks & seen_infinity) != 0) return limits::infinity();
    if ((marks & seen_minus_infinity) != 0) return -limits::infinity();

    const bool negative = (w[N - 1] >> 63u) != 0;
    if (negative) {
        std::uint64_t carry = 1;
        for (std::uint64_t& word : w) {
            word = ~word + carry;
            carry = carry != 0 && word == 0 ? 1 : 0;
        }
    }
    std::size_t top = N;
    while (top != 0 && w[top - 1] == 0) --top;
    if (top == 0) return (marks & seen_not_minus_zero) != 0 ? T(0) : -T(0);

    const std::size_t width = 64 * top - static_cast<std::size_t>(std::countl_zero(w[top - 1]));
    std::uint64_t bits = w[0];
    if (width > format::digits) {
        // The leading digits; the implicit one among them counts the exponent up by one.
        const std::size_t drop = width - format::digits;
        const std::size_t word = drop / 64;
        const unsigned shift = static_cast<unsigned>(drop % 64);
        bits = w[word] >> shift;
        if (shift != 0 && word + 1 < N) bits |= w[word + 1] << (64 - shift);
        bits &= (std::uint64_t{1} << format::digits) - 1;
        bits += static_cast<std::uint64_t>(drop) << format::fraction_bits;
        const std::size_t half = drop - 1; // the first dropped bit
        if ((w[half / 64] >> (half % 64) & 1u) != 0) {
            bool above_half = (w[half / 64] & ((std::uint64_t{1} << (half % 64)) - 1)) != 0;
            for (std::size_t i = 0; i != half / 64; ++i) above_half = above_half || w[i] != 0;
            if (above_half || (bits & 1u) != 0) ++bits; // may carry into the exponent, which is right
        }
        const std::uint64_t infinity = std::uint64_t{format::max_exponent} << format::fraction_bits;
        if (bits > infinity) bits = infinity;
    }
    bits |= static_cast<std::uint64_t>(negative) << (sizeof(T) * 8 - 1);
    return std::bit_cast<T>(static_cast<bits_of<T>>(bits));
}

} // namespace bough::detail

#endif
