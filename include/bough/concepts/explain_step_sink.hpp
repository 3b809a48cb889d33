// SPDX-License-Identifier: BSL-1.0
// explain_step_sink: what a type lacks to be a StepSink, in a sentence.
//
//   static_assert(bough::explain_step_sink<my_sink>());      // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_STEP_SINK_HPP
#define BOUGH_CONCEPTS_EXPLAIN_STEP_SINK_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_step_sink = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class S>
consteval bool explain_step_sink() {
    using sink_type = std::remove_reference_t<S>;
    constexpr bool send = requires(sink_type & s, rank_t peer, slice where) { s.send(peer, where); };
    constexpr bool receive = requires(sink_type & s, rank_t peer, slice where) { s.receive(peer, where); };
    constexpr bool parts = requires(sink_type & s, rank_t peer, slice where) {
        s.send_part(peer, where);
        s.receive_part(peer, where);
    };
    constexpr bool combine = requires(sink_type & s, slice where) { s.combine(where, where, where); };
    constexpr bool copy = requires(sink_type & s, slice where) { s.copy(where, where); };
    if constexpr (!send)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void send(rank_t to, slice from)`: what leaves for another rank");
    if constexpr (!receive)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void receive(rank_t from, slice into)`: what comes from another rank");
    if constexpr (!parts)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void send_part(rank_t to, slice from)` and `void receive_part(rank_t "
                      "from, slice into)`: a part of a message that goes on in the next step");
    if constexpr (!combine)
        static_assert(detail::no_step_sink<S>, "bough: a StepSink needs `void combine(slice lower, slice upper, slice "
                                               "out)`: out = op(lower, upper)");
    if constexpr (!copy)
        static_assert(detail::no_step_sink<S>,
                      "bough: a StepSink needs `void copy(slice from, slice to)`: a local copy");
    return StepSink<S>;
}

} // namespace bough

#endif
