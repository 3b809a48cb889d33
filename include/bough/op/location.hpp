// SPDX-License-Identifier: BSL-1.0
// Min_location and max_location: the extreme value and where it is.
//
// Equal values: the lowest location wins. A NaN wins against any number, among NaNs the lowest
// location wins, and the value comes out as the canonical NaN. -0 is less than +0, so between those
// two the value decides. That is a total order: both are exact, commutative and idempotent, bit for
// bit.
#ifndef BOUGH_OP_LOCATION_HPP
#define BOUGH_OP_LOCATION_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/canonical.hpp>
#include <bough/op/traits.hpp>
#include <bough/op/wire.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

// A value and where it was found.
template <detail::real_number T, std::integral I = std::uint64_t>
struct value_location {
    T value{};
    I location{};
    friend constexpr bool operator==(const value_location&, const value_location&) = default;
};
template <class T, class I>
value_location(T, I) -> value_location<T, I>;

// Where the compiler pads (float beside a 64-bit location), the two members travel packed: no byte
// of a message is ever undefined. Without padding the pair travels as its bytes.
template <class T, class I>
requires(sizeof(value_location<T, I>) != sizeof(T) + sizeof(I)) struct wire<value_location<T, I>> {
    static constexpr std::size_t size = sizeof(T) + sizeof(I);
    static constexpr void encode(const value_location<T, I>& pair, std::span<std::byte, size> out) noexcept {
        wire<T>::encode(pair.value, out.template first<sizeof(T)>());
        wire<I>::encode(pair.location, out.template last<sizeof(I)>());
    }
    static constexpr value_location<T, I> decode(std::span<const std::byte, size> in) noexcept {
        return {wire<T>::decode(in.template first<sizeof(T)>()), wire<I>::decode(in.template last<sizeof(I)>())};
    }
};

namespace detail {

// `Before(a, b)`: the value a is preferred to b. Neither is a NaN.
template <class T, class I, class Before>
constexpr value_location<T, I> locate(const value_location<T, I>& a, const value_location<T, I>& b,
                                      Before before_other) noexcept {
    const I lowest = b.location < a.location ? b.location : a.location;
    if constexpr (std::floating_point<T>) {
        const bool a_is_nan = a.value != a.value;
        const bool b_is_nan = b.value != b.value;
        if (a_is_nan || b_is_nan) {
            return {std::numeric_limits<T>::quiet_NaN(), a_is_nan && b_is_nan ? lowest
                                                         : a_is_nan           ? a.location
                                                                              : b.location};
        }
    }
    if (before_other(a.value, b.value)) return a;
    if (before_other(b.value, a.value)) return b;
    return {a.value, lowest};
}

// What any value is preferred to: the infinity, or the outermost integer.
template <class T>
constexpr T highest() noexcept {
    if constexpr (std::floating_point<T>) {
        return std::numeric_limits<T>::infinity();
    } else {
        return std::numeric_limits<T>::max();
    }
}
template <class T>
constexpr T lowest() noexcept {
    if constexpr (std::floating_point<T>) {
        return -std::numeric_limits<T>::infinity();
    } else {
        return std::numeric_limits<T>::lowest();
    }
}

template <class P>
inline constexpr bool is_value_location_v = false;
template <class T, class I>
inline constexpr bool is_value_location_v<value_location<T, I>> = true;

} // namespace detail

// The lower value and its location. max_location: the higher one.
struct min_location {
    template <class T, class I>
    constexpr value_location<T, I> operator()(const value_location<T, I>& a,
                                              const value_location<T, I>& b) const noexcept {
        return detail::locate(a, b, [](T x, T y) { return detail::before(x, y); });
    }
    template <class P>
    requires detail::is_value_location_v<P>
    static constexpr P identity() noexcept {
        return {detail::highest<decltype(P::value)>(), std::numeric_limits<decltype(P::location)>::max()};
    }
    friend constexpr bool operator==(min_location, min_location) = default;
};

struct max_location {
    template <class T, class I>
    constexpr value_location<T, I> operator()(const value_location<T, I>& a,
                                              const value_location<T, I>& b) const noexcept {
        return detail::locate(a, b, [](T x, T y) { return detail::before(y, x); });
    }
    template <class P>
    requires detail::is_value_location_v<P>
    static constexpr P identity() noexcept {
        return {detail::lowest<decltype(P::value)>(), std::numeric_limits<decltype(P::location)>::max()};
    }
    friend constexpr bool operator==(max_location, max_location) = default;
};

template <>
inline constexpr bool is_commutative_v<min_location> = true;
template <>
inline constexpr bool is_commutative_v<max_location> = true;

template <class P>
inline constexpr bool is_exact_v<min_location, P> = detail::is_value_location_v<P>;
template <class P>
inline constexpr bool is_exact_v<max_location, P> = detail::is_value_location_v<P>;

template <>
inline constexpr bool is_idempotent_v<min_location> = true;
template <>
inline constexpr bool is_idempotent_v<max_location> = true;

template <class T, class I>
inline constexpr bool is_integer_only_v<min_location, value_location<T, I>> = std::integral<T>;
template <class T, class I>
inline constexpr bool is_integer_only_v<max_location, value_location<T, I>> = std::integral<T>;

template <>
inline constexpr std::uint64_t op_id<min_location> = hash_name("bough.min_location");
template <>
inline constexpr std::uint64_t op_id<max_location> = hash_name("bough.max_location");

} // namespace bough

#endif
