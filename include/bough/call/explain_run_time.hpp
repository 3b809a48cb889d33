// SPDX-License-Identifier: BSL-1.0
// explain_run_time: the sentences about the arguments of a call on elements whose type is known at run
// time only.
#ifndef BOUGH_CALL_EXPLAIN_RUN_TIME_HPP
#define BOUGH_CALL_EXPLAIN_RUN_TIME_HPP

#include <bough/call/contiguous.hpp>
#include <bough/call/elements.hpp>
#include <bough/call/forms.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Says what is wrong with the arguments of a call on elements; true: nothing.
template <class Own, class Forms, class On, class First, class... A>
consteval bool explain_run_time() {
    constexpr bool fits = requires(On & on, const std::remove_cvref_t<First>& first, A&&... rest) {
        Own::call(on, first, detail::as_span(std::forward<A>(rest))...);
    };
    constexpr std::size_t others = (std::size_t{0} + ... +
                                    (!is_elements_v<A> && !is_root_v<A> &&
                                     !is_span_v<std::remove_cvref_t<decltype(detail::as_span(std::declval<A>()))>>));
    constexpr bool has_op = (RunTimeOp<std::remove_cvref_t<A>> || ...);
    constexpr bool mixes = (!std::is_void_v<data_element<A>> || ...) && !Forms::wanted.lists;
    if constexpr (fits)
        return true;
    else if constexpr (mixes)
        static_assert(no_form<First>, "bough: elements of a run-time type cannot be mixed with spans: describe both "
                                      "input and output, with run_time_type_of<T>() for the type of a span");
    else if constexpr (Forms::wanted.op && !has_op && others != 0)
        static_assert(no_form<First>, "bough: elements of a run-time type take a run_time_op, or an any_op: write "
                                      "make_any_op<double>(plus{}) for an op of C++");
    else if constexpr (Forms::wanted.op && !has_op)
        static_assert(no_form<First>,
                      "bough: this collective combines: give a run_time_op or an any_op behind the data");
    else if constexpr (std::same_as<std::remove_cvref_t<First>, const_elements>)
        static_assert(no_form<First>,
                      "bough: the result is written here: give elements, or const_elements and elements");
    else
        return explain_rest<Forms, First, A...>();
    return false;
}
} // namespace bough::inline BOUGH_ABI::detail

#endif
