// SPDX-License-Identifier: BSL-1.0
// explain_step_sink: what a type lacks to be a StepSink, in a sentence.
//
//   static_assert(bough::explain_step_sink<my_sink>());      // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_STEP_SINK_HPP
#define BOUGH_CONCEPTS_EXPLAIN_STEP_SINK_HPP

#include <bough/concepts/step_sink.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_step_sink = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class S>
consteval bool explain_step_sink() {
    if constexpr (!detail::TakesSends<S>)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void send(rank_t to, slice from)`: what leaves for another rank");
    if constexpr (!detail::TakesReceives<S>)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void receive(rank_t from, slice into)`: what comes from another rank");
    if constexpr (!detail::TakesParts<S>)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void send_part(rank_t to, slice from)` and `void receive_part(rank_t "
                      "from, slice into)`: a part of a message that goes on in the next step");
    if constexpr (!detail::TakesCombines<S>)
        static_assert(detail::no_step_sink<S>, "bough: a StepSink needs `void combine(slice lower, slice upper, slice "
                                               "out)`: out = op(lower, upper)");
    if constexpr (!detail::TakesCopies<S>)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void copy(slice from, slice to)`: a local copy");
    return StepSink<S>;
}

} // namespace bough

#endif
