// SPDX-License-Identifier: BSL-1.0
// Logical and, or, exclusive or, on integers and bool: any non-zero value is true, the result is 0 or 1.
//
// They are idempotent, and their identities neutral, on what they return: op(7, 7) is 1, and 1 stays 1.
#ifndef BOUGH_OP_LOGICAL_HPP
#define BOUGH_OP_LOGICAL_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/traits.hpp>

#include <concepts>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// Are both true? Identity: 1.
struct logical_and {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return static_cast<T>((a != T(0)) & (b != T(0)));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return T(1);
    }
    friend constexpr bool operator==(logical_and, logical_and) = default;
};

// Is one of them true? Identity: 0.
struct logical_or {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return static_cast<T>((a != T(0)) | (b != T(0)));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return T(0);
    }
    friend constexpr bool operator==(logical_or, logical_or) = default;
};

// Is exactly one of them true? Identity: 0.
struct logical_xor {
    template <std::integral T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return static_cast<T>((a != T(0)) != (b != T(0)));
    }
    template <std::integral T>
    static constexpr T identity() noexcept {
        return T(0);
    }
    friend constexpr bool operator==(logical_xor, logical_xor) = default;
};

template <>
inline constexpr bool is_commutative_v<logical_and> = true;
template <>
inline constexpr bool is_commutative_v<logical_or> = true;
template <>
inline constexpr bool is_commutative_v<logical_xor> = true;

template <class T>
inline constexpr bool is_exact_v<logical_and, T> = std::integral<T>;
template <class T>
inline constexpr bool is_exact_v<logical_or, T> = std::integral<T>;
template <class T>
inline constexpr bool is_exact_v<logical_xor, T> = std::integral<T>;

template <>
inline constexpr bool is_idempotent_v<logical_and> = true;
template <>
inline constexpr bool is_idempotent_v<logical_or> = true;

template <class T>
inline constexpr bool is_integer_only_v<logical_and, T> = std::integral<T>;
template <class T>
inline constexpr bool is_integer_only_v<logical_or, T> = std::integral<T>;
template <class T>
inline constexpr bool is_integer_only_v<logical_xor, T> = std::integral<T>;

template <>
inline constexpr std::uint64_t op_id<logical_and> = hash_name("bough.logical_and");
template <>
inline constexpr std::uint64_t op_id<logical_or> = hash_name("bough.logical_or");
template <>
inline constexpr std::uint64_t op_id<logical_xor> = hash_name("bough.logical_xor");

} // namespace bough

#endif
