// SPDX-License-Identifier: BSL-1.0
// Floats and doubles as amounts (bough/op/limb_state.hpp), and back from a sum in two's complement.
#ifndef BOUGH_OP_DETAIL_FIXED_POINT_HPP
#define BOUGH_OP_DETAIL_FIXED_POINT_HPP

#include <bough/op/limb_state.hpp>
#include <bough/op/soft_float.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

template <class T>
concept binary_float = (std::same_as<T, float> || std::same_as<T, double>)&&std::numeric_limits<T>::is_iec559;

template <binary_float T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <binary_float T>
struct float_format {
    static constexpr unsigned digits = static_cast<unsigned>(std::numeric_limits<T>::digits);
    static constexpr unsigned fraction_bits = digits - 1;
    static constexpr unsigned max_exponent = 2 * static_cast<unsigned>(std::numeric_limits<T>::max_exponent) - 1;
    // Bits of the largest finite number as a multiple of the smallest one.
    static constexpr unsigned width = max_exponent - 2 + digits;
};

template <binary_float T>
using bits_format = float_bits<bits_of<T>, sizeof(T) == 4 ? 8 : 11>;

template <binary_float T>
constexpr amount unpack(T x) noexcept {
    return amount_of<bits_format<T>>(std::bit_cast<bits_of<T>>(x));
}

// w[first ..] += or -= {low, high}, in two's complement modulo its length. Pre: first < N.
template <std::size_t Extent>
constexpr void add_at(std::array<std::uint64_t, Extent>& w, std::size_t first, std::uint64_t low, std::uint64_t high,
                      bool negative) noexcept {
    // Word by word until nothing is left to carry.
    std::uint64_t carry = 0;
    for (std::size_t i = first; i != Extent; ++i) {
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
template <std::size_t Extent>
constexpr void add_at(std::array<std::uint64_t, Extent>& w, const amount& x) noexcept {
    const unsigned shift = x.position % 64;
    add_at(w, x.position / 64, x.magnitude << shift, shift == 0 ? 0 : x.magnitude >> (64 - shift), x.negative);
}

// The number nearest to w (two's complement) times the smallest subnormal; the even one if two are
// equally near.
template <binary_float T, std::size_t Extent>
constexpr T round_to_nearest(std::array<std::uint64_t, Extent> w, std::uint64_t marks) noexcept {
    using format = bits_format<T>;
    if (const auto special = special_sum<format>(marks)) return std::bit_cast<T>(special);
    const bool negative = (w[Extent - 1] >> 63u) != 0;
    if (negative) {
        std::uint64_t carry = 1;
        for (std::uint64_t& word : w) {
            word = ~word + carry;
            carry = carry != 0 && word == 0 ? 1 : 0;
        }
    }
    const auto magnitude = nearest_magnitude<format>(w.data(), static_cast<unsigned>(Extent));
    const bool minus_zero = magnitude == 0 && (marks & seen_not_minus_zero) == 0;
    return std::bit_cast<T>(magnitude | (negative || minus_zero ? format::sign_bit : bits_of<T>{0}));
}

} // namespace bough::detail

#endif
