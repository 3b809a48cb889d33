// SPDX-License-Identifier: BSL-1.0
// Min, max, min_number, max_number: IEEE 754-2019 minimum, maximum, minimumNumber and
// maximumNumber; plain on integers.
//
//   min, max                  a NaN wins, and comes out as the one canonical NaN
//   min_number, max_number    a NaN loses against any number; NaN only if both operands are
// In all four -0 is less than +0. So each is a total choice: exact, commutative and idempotent, bit
// for bit.
#ifndef BOUGH_OP_MIN_MAX_HPP
#define BOUGH_OP_MIN_MAX_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/canonical.hpp>
#include <bough/op/traits.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The extreme in both orders of the operands. The two differ if the operands are equal (then in the
// sign of a zero), or if one is a NaN: `first` is then b, and `second` is a. All selects and no
// branch: loops over them become vector code.
template <bool Least, std::floating_point T>
struct extremes {
    T first;
    T second;
    constexpr extremes(T a, T b) noexcept
        : first((Least ? a < b : b < a) ? a : b), second((Least ? b < a : a < b) ? b : a) {}
    constexpr T merged() const noexcept { return pick_zero<Least>(first, second); }
};

// Or-ing a NaN with anything keeps it a NaN, so a merged minimum tells by itself.
template <bool Least, std::floating_point T>
constexpr bool is_ordered(T a, T b, T merged) noexcept {
    if constexpr (Least && sizeof(T) <= sizeof(double)) return merged == merged;
    return a == a && b == b;
}

template <bool Least, std::floating_point T>
constexpr T extreme(T a, T b) noexcept {
    const T r = extremes<Least, T>(a, b).merged();
    return is_ordered<Least>(a, b, r) ? r : std::numeric_limits<T>::quiet_NaN();
}

template <bool Least, std::floating_point T>
constexpr T extreme_number(T a, T b) noexcept {
    const extremes<Least, T> e(a, b);
    const T r = e.merged();
    const T number = e.first == e.first ? e.first : e.second;
    return canonical(is_ordered<Least>(a, b, r) ? r : number);
}

} // namespace detail

struct min {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return b < a ? b : a;
    }
    template <std::floating_point T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return detail::extreme<true>(a, b);
    }
    template <detail::narrow_float T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return T::rounded(detail::extreme<true>(static_cast<float>(a), static_cast<float>(b)));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::max();
    }
    template <std::floating_point T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::infinity();
    }
    template <detail::narrow_float T>
    static constexpr T identity() noexcept {
        return T::greatest();
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
        return detail::extreme<false>(a, b);
    }
    template <detail::narrow_float T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return T::rounded(detail::extreme<false>(static_cast<float>(a), static_cast<float>(b)));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::lowest();
    }
    template <std::floating_point T>
    static constexpr T identity() noexcept {
        return -std::numeric_limits<T>::infinity();
    }
    template <detail::narrow_float T>
    static constexpr T identity() noexcept {
        return -T::greatest();
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
        return detail::extreme_number<true>(a, b);
    }
    template <detail::narrow_float T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return T::rounded(detail::extreme_number<true>(static_cast<float>(a), static_cast<float>(b)));
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
    template <detail::narrow_float T>
    static constexpr T identity() noexcept {
        return T::quiet_nan();
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
        return detail::extreme_number<false>(a, b);
    }
    template <detail::narrow_float T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return T::rounded(detail::extreme_number<false>(static_cast<float>(a), static_cast<float>(b)));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::lowest();
    }
    template <std::floating_point T>
    static constexpr T identity() noexcept {
        return std::numeric_limits<T>::quiet_NaN();
    }
    template <detail::narrow_float T>
    static constexpr T identity() noexcept {
        return T::quiet_nan();
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
inline constexpr bool is_exact_v<min, T> = std::is_arithmetic_v<T> || detail::narrow_float<T>;
template <class T>
inline constexpr bool is_exact_v<max, T> = std::is_arithmetic_v<T> || detail::narrow_float<T>;
template <class T>
inline constexpr bool is_exact_v<min_number, T> = std::is_arithmetic_v<T> || detail::narrow_float<T>;
template <class T>
inline constexpr bool is_exact_v<max_number, T> = std::is_arithmetic_v<T> || detail::narrow_float<T>;

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
