// SPDX-License-Identifier: BSL-1.0
// Bitwise and, or, exclusive or, on integers, bool and std::byte.
#ifndef BOUGH_OP_BITWISE_HPP
#define BOUGH_OP_BITWISE_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/traits.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class T>
concept bits = std::integral<T> || std::same_as<T, std::byte>;

template <bits T>
constexpr T all_bits() noexcept {
    if constexpr (std::same_as<T, bool>) {
        return true; // ~ would promote it to an int first
    } else {
        return static_cast<T>(~T(0));
    }
}
} // namespace detail

// a & b. Identity: all bits set.
struct bit_and {
    template <detail::bits T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return static_cast<T>(a & b);
    }
    template <detail::bits T>
    static constexpr T identity() noexcept {
        return detail::all_bits<T>();
    }
    friend constexpr bool operator==(bit_and, bit_and) = default;
};

// a | b. Identity: 0.
struct bit_or {
    template <detail::bits T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return static_cast<T>(a | b);
    }
    template <detail::bits T>
    static constexpr T identity() noexcept {
        return T(0);
    }
    friend constexpr bool operator==(bit_or, bit_or) = default;
};

// a ^ b. Identity: 0.
struct bit_xor {
    template <detail::bits T>
    constexpr T operator()(const T& a, const T& b) const noexcept {
        return static_cast<T>(a ^ b);
    }
    template <detail::bits T>
    static constexpr T identity() noexcept {
        return T(0);
    }
    friend constexpr bool operator==(bit_xor, bit_xor) = default;
};

template <>
inline constexpr bool is_commutative_v<bit_and> = true;
template <>
inline constexpr bool is_commutative_v<bit_or> = true;
template <>
inline constexpr bool is_commutative_v<bit_xor> = true;

template <class T>
inline constexpr bool is_exact_v<bit_and, T> = detail::bits<T>;
template <class T>
inline constexpr bool is_exact_v<bit_or, T> = detail::bits<T>;
template <class T>
inline constexpr bool is_exact_v<bit_xor, T> = detail::bits<T>;

template <>
inline constexpr bool is_idempotent_v<bit_and> = true;
template <>
inline constexpr bool is_idempotent_v<bit_or> = true;

template <class T>
inline constexpr bool is_integer_only_v<bit_and, T> = detail::bits<T>;
template <class T>
inline constexpr bool is_integer_only_v<bit_or, T> = detail::bits<T>;
template <class T>
inline constexpr bool is_integer_only_v<bit_xor, T> = detail::bits<T>;

template <>
inline constexpr std::uint64_t op_id<bit_and> = hash_name("bough.bit_and");
template <>
inline constexpr std::uint64_t op_id<bit_or> = hash_name("bough.bit_or");
template <>
inline constexpr std::uint64_t op_id<bit_xor> = hash_name("bough.bit_xor");

} // namespace bough

#endif
