// SPDX-License-Identifier: BSL-1.0
// Plus and multiplies.
//
// Integers wrap modulo 2^n and are exact. Floating results are rounded, so another bracket gives
// other bits; they are commutative bit for bit, since a NaN result is always the same NaN. Complex
// numbers (anything with a floating value_type, real(), imag() and a constructor from both) are
// combined by parts; their product is the plain formula, without the recovery of infinities of C's
// Annex G. plus also takes any other T that has a commutative operator+; a product that may not
// commute (matrices, quaternions) needs an op of your own.
//
// The identity of plus on floating numbers is -0: it is the number that leaves every other as it
// is, +0 included.
#ifndef BOUGH_OP_ARITHMETIC_HPP
#define BOUGH_OP_ARITHMETIC_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/canonical.hpp>
#include <bough/op/traits.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class T>
concept addable =
    !std::is_arithmetic_v<T> && !std::is_pointer_v<T> && !std::is_enum_v<T> && requires(const T& a, const T& b) {
    { a + b } -> std::convertible_to<T>;
};
} // namespace detail

struct plus {
    template <class T>
    requires(detail::real_number<T> || detail::narrow_float<T> || detail::complex_like<T> ||
             detail::addable<T>) constexpr T
    operator()(const T& a, const T& b) const
        noexcept(detail::real_number<T> || detail::narrow_float<T> || noexcept(T(a + b))) {
        if constexpr (detail::integer<T>) {
            using wide = detail::wrapping_t<T>;
            return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
        } else if constexpr (std::floating_point<T>) {
            return detail::canonical(a + b);
        } else if constexpr (detail::narrow_float<T>) {
            return T::rounded(static_cast<float>(a) + static_cast<float>(b));
        } else if constexpr (detail::complex_like<T>) {
            using part = typename T::value_type;
            return T(detail::canonical(static_cast<part>(a.real() + b.real())),
                     detail::canonical(static_cast<part>(a.imag() + b.imag())));
        } else {
            return a + b;
        }
    }

    template <class T>
    requires(detail::real_number<T> || detail::narrow_float<T> || detail::complex_like<T>) static constexpr T
        identity() noexcept {
        if constexpr (detail::integer<T>) {
            return T(0);
        } else if constexpr (detail::narrow_float<T>) {
            return T(-0.0f);
        } else if constexpr (std::floating_point<T>) {
            return -T(0);
        } else {
            using part = typename T::value_type;
            return T(-part(0), -part(0));
        }
    }

    friend constexpr bool operator==(plus, plus) = default;
};

struct multiplies {
    template <class T>
    requires(detail::real_number<T> || detail::narrow_float<T> || detail::complex_like<T>) constexpr T
    operator()(const T& a, const T& b) const noexcept {
        if constexpr (detail::integer<T>) {
            using wide = detail::wrapping_t<T>;
            return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b));
        } else if constexpr (std::floating_point<T>) {
            return detail::canonical(a * b);
        } else if constexpr (detail::narrow_float<T>) {
            return T::rounded(static_cast<float>(a) * static_cast<float>(b));
        } else {
            using part = typename T::value_type;
            const part ac = detail::rounded(static_cast<part>(a.real() * b.real()));
            const part bd = detail::rounded(static_cast<part>(a.imag() * b.imag()));
            const part ad = detail::rounded(static_cast<part>(a.real() * b.imag()));
            const part bc = detail::rounded(static_cast<part>(a.imag() * b.real()));
            return T(detail::canonical(static_cast<part>(ac - bd)), detail::canonical(static_cast<part>(ad + bc)));
        }
    }

    // One; for complex numbers there is none that keeps every signed zero.
    template <class T>
    requires(detail::real_number<T> || detail::narrow_float<T>) static constexpr T identity() noexcept { return T(1); }

    friend constexpr bool operator==(multiplies, multiplies) = default;
};

template <>
inline constexpr bool is_commutative_v<plus> = true;
template <>
inline constexpr bool is_commutative_v<multiplies> = true;

template <class T>
inline constexpr bool is_exact_v<plus, T> = detail::integer<T>;
template <class T>
inline constexpr bool is_exact_v<multiplies, T> = detail::integer<T>;

template <class T>
inline constexpr bool is_integer_only_v<plus, T> = detail::integer<T>;
template <class T>
inline constexpr bool is_integer_only_v<multiplies, T> = detail::integer<T>;

template <>
inline constexpr std::uint64_t op_id<plus> = hash_name("bough.plus");
template <>
inline constexpr std::uint64_t op_id<multiplies> = hash_name("bough.multiplies");

} // namespace bough

#endif
