// SPDX-License-Identifier: BSL-1.0
// Canonical numbers: the kinds of number that the shipped ops know, one NaN for all ranks, and an
// order on zeros.
//
// A compiler may swap the operands of + and *, and the processor takes the payload of a NaN from
// one of them: two ranks would hold different bits. So a result that is NaN is always the same one:
// quiet, positive, payload zero. This needs a compiler that honours NaN: not -ffast-math, not
// -ffinite-math-only.
#ifndef BOUGH_OP_CANONICAL_HPP
#define BOUGH_OP_CANONICAL_HPP

#include <bough/core/config.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

template <class T>
concept integer = std::integral<T> && !std::same_as<T, bool>;

template <class T>
concept real_number = integer<T> || std::floating_point<T>;

// A number that computes in float and rounds (bough/op/small_float.hpp).
template <class T>
concept narrow_float = requires(float x) {
    typename T::format;
    T::rounded(x);
};

// std::complex and what looks like it: two floating parts, and a constructor from them.
template <class T>
concept complex_like = requires(const T& z) {
    requires std::floating_point<typename T::value_type>;
    { z.real() } -> std::convertible_to<typename T::value_type>;
    { z.imag() } -> std::convertible_to<typename T::value_type>;
    T(z.real(), z.imag());
};

// Arithmetic modulo 2^n happens in an unsigned type that integer promotion leaves alone.
template <integer T>
using wrapping_t = std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

// A select and no branch, so that loops over it become vector code.
template <std::floating_point T>
constexpr T canonical(T x) noexcept {
    return x == x ? x : std::numeric_limits<T>::quiet_NaN();
}

// A product that is rounded before it is added to: a fused multiply-add would depend on the order
// of the operands. (clang fuses across statements only under -ffp-contract=fast, which is not its
// default; complex products do not commute bit for bit there.)
template <std::floating_point T>
constexpr T rounded(T x) noexcept {
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
    return __builtin_assoc_barrier(x);
#else
    return x;
#endif
#else
    return x;
#endif
}

template <std::floating_point T>
constexpr bool is_negative(T x) noexcept {
    if constexpr (sizeof(T) == 4) {
        return (std::bit_cast<std::uint32_t>(x) >> 31u) != 0;
    } else if constexpr (sizeof(T) == 8) {
        return (std::bit_cast<std::uint64_t>(x) >> 63u) != 0;
    } else {
        return __builtin_copysignl(1.0L, x) < 0;
    }
}

// If two equal numbers are zeros, picks the negative one, or the positive one. Other numbers are
// left alone.
template <bool Negative, std::floating_point T>
constexpr T pick_zero(T a, T b) noexcept {
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
        using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
        const bits x = std::bit_cast<bits>(a);
        const bits y = std::bit_cast<bits>(b);
        return std::bit_cast<T>(static_cast<bits>(Negative ? (x | y) : (x & y)));
    } else {
        return is_negative(a) == Negative ? a : b;
    }
}

// Total on everything but NaN: -0 comes before +0.
template <real_number T>
constexpr bool before(T a, T b) noexcept {
    if constexpr (std::floating_point<T>) {
        return a < b || (a == b && is_negative(a) && !is_negative(b));
    } else {
        return a < b;
    }
}

} // namespace bough::detail

#endif
