// SPDX-License-Identifier: BSL-1.0
// Min, max, min_number, max_number: IEEE 754-2019 minimum, maximum, minimumNumber and maximumNumber; plain on integers.
//
//   min, max                  a NaN wins, and comes out as the one canonical NaN
//   min_number, max_number    a NaN loses against any number; NaN only if both operands are
// In all four -0 is less than +0. So each is a total choice: exact, commutative and idempotent, bit for bit.
#ifndef BOUGH_OP_MIN_MAX_HPP
#define BOUGH_OP_MIN_MAX_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/canonical.hpp>
#include <bough/op/traits.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace bough {

namespace detail {

// Both orders of the select agree unless the operands are equal (both zero, if their bits differ) or one is a NaN. All
// selects, no branch: the loops over it become vector code.
template <std::floating_point T>
constexpr T minimum(T a, T b) noexcept {
    const T r = pick_zero<true>(a < b ? a : b, b < a ? b : a);
    if constexpr (sizeof(T) <= sizeof(double)) return canonical(r); // or-ing keeps a NaN a NaN
    return a == a && b == b ? r : std::numeric_limits<T>::quiet_NaN();
}

template <std::floating_point T>
constexpr T maximum(T a, T b) noexcept {
    return canonical(-minimum(-a, -b));
}

// A NaN steps back for the other operand.
template <std::floating_point T>
constexpr T number_of(T a, T b) noexcept {
    return a == a ? a : b;
}

} // namespace detail

struct min {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return b < a ? b : a;
    }
    template <std::floating_point T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return detail::minimum(a, b);
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::max();
    }
    template <std::floating_point T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::infinity();
    }
    friend constexpr bool operator==(min, min) = default;
};

struct max {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return a < b ? b : a;
    }
    template <std::floating_point T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return detail::maximum(a, b);
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::lowest();
    }
    template <std::floating_point T>
    static constexpr T identity() noexcept {
        return -std::numeric_limits<T>::infinity();
    }
    friend constexpr bool operator==(max, max) = default;
};

struct min_number {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return b < a ? b : a;
    }
    template <std::floating_point T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return detail::minimum(detail::number_of(a, b), detail::number_of(b, a));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::max();
    }
    // Every number wins against it, and NaN stays NaN.
    template <std::floating_point T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::quiet_NaN();
    }
    friend constexpr bool operator==(min_number, min_number) = default;
};

struct max_number {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return a < b ? b : a;
    }
    template <std::floating_point T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return detail::maximum(detail::number_of(a, b), detail::number_of(b, a));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::lowest();
    }
    template <std::floating_point T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::quiet_NaN();
    }
    friend constexpr bool operator==(max_number, max_number) = default;
};

template <>
inline constexpr bool is_commutative_v<min> = true;
template <>
inline constexpr bool is_commutative_v<max> = true;
template <>
inline constexpr bool is_commutative_v<min_number> = true;
template <>
inline constexpr bool is_commutative_v<max_number> = true;

template <class T>
inline constexpr bool is_exact_v<min, T> = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_exact_v<max, T> = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_exact_v<min_number, T> = std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool is_exact_v<max_number, T> = std::is_arithmetic_v<T>;

template <>
inline constexpr bool is_idempotent_v<min> = true;
template <>
inline constexpr bool is_idempotent_v<max> = true;
template <>
inline constexpr bool is_idempotent_v<min_number> = true;
template <>
inline constexpr bool is_idempotent_v<max_number> = true;

template <class T>
inline constexpr bool is_integer_only_v<min, T> = std::integral<T>;
template <class T>
inline constexpr bool is_integer_only_v<max, T> = std::integral<T>;
template <class T>
inline constexpr bool is_integer_only_v<min_number, T> = std::integral<T>;
template <class T>
inline constexpr bool is_integer_only_v<max_number, T> = std::integral<T>;

template <>
inline constexpr std::uint64_t op_id<min> = hash_name("bough.min");
template <>
inline constexpr std::uint64_t op_id<max> = hash_name("bough.max");
template <>
inline constexpr std::uint64_t op_id<min_number> = hash_name("bough.min_number");
template <>
inline constexpr std::uint64_t op_id<max_number> = hash_name("bough.max_number");

} // namespace bough

#endif
