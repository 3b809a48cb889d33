// SPDX-License-Identifier: BSL-1.0
// Contiguous: lets front doors take data that are not spans: a vector, an array, anything whose
// elements lie one behind the other.
//
//   std::vector<double> x(1000);
//   allreduce(comm, x, plus{});                     as allreduce(comm, std::span(x), plus{})
//   gatherv(comm, x, out, counts, root{0}, ec);     each of the ranges may be a span or not
// A temporary may be read, but not by an operation that goes on after it. A result in a temporary
// would be lost, so its elements are const here.
#ifndef BOUGH_CALL_CONTIGUOUS_HPP
#define BOUGH_CALL_CONTIGUOUS_HPP

#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <class R>
inline constexpr bool is_span_v = false;
template <class T, std::size_t Extent>
inline constexpr bool is_span_v<std::span<T, Extent>> = true;

// Can a span be made from it, and is it not a span already?
template <class R>
concept SpanLike = !is_span_v<std::remove_cvref_t<R>> && requires(R & range) {
    { *std::data(range) } -> std::same_as<std::remove_pointer_t<decltype(std::data(range))>&>;
    { std::size(range) } -> std::convertible_to<std::size_t>;
};

// A container that ends with the expression in which it stands. One that is const makes its elements
// const. A view does not: it does not own what it shows, and may say so as borrowed ranges do.
template <class A, class Container = std::remove_const_t<A>>
concept DyingContainer = !std::is_reference_v<A> && SpanLike<A> && !std::ranges::enable_borrowed_range<Container> &&
                         (std::is_array_v<A> || !std::same_as<decltype(std::data(std::declval<Container&>())),
                                                              decltype(std::data(std::declval<const Container&>()))>);

// Makes a span of a range; other arguments stay as they are.
template <class A>
constexpr decltype(auto) as_span(A&& argument) noexcept {
    if constexpr (!SpanLike<A>) {
        return std::forward<A>(argument);
    } else {
        using element = std::remove_pointer_t<decltype(std::data(argument))>;
        using seen = std::conditional_t<std::is_lvalue_reference_v<A>, element, const element>;
        return std::span<seen>(std::data(argument), std::size(argument));
    }
}

} // namespace bough::detail

#endif
