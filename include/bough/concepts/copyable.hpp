// SPDX-License-Identifier: BSL-1.0
// Copyable: asks of a type what std::copyable does, with less work for the compiler.
//
//   static_assert(bough::detail::Copyable<bough::binomial>);
//
// std::copyable also asks for swaps and common references. They follow from copies and assignments, but checking them
// takes some hundred instantiations a type, and a front door has twenty algorithms and shapes to check.
#ifndef BOUGH_CONCEPTS_COPYABLE_HPP
#define BOUGH_CONCEPTS_COPYABLE_HPP

#include <bough/core/config.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <class T>
concept Copyable = std::is_object_v<T> && requires(T& to, const T& from) {
    T(from);
    T(std::move(to));
    { to = from } -> std::same_as<T&>;
    { to = std::move(to) } -> std::same_as<T&>;
    requires noexcept(to.~T());
};

// Its values can be compared. Not std::equality_comparable, for the same reason.
template <class T>
concept Comparable = requires(const T& a, const T& b) {
    { a == b } -> std::same_as<bool>;
};

} // namespace bough::detail

#endif
