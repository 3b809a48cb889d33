// SPDX-License-Identifier: BSL-1.0
// StepSink: what a generator pushes its steps into, in plain program order.
//
// Valid expressions on a sink `s` (their result is not used):
//   s.send(to, from)              s.receive(from, into)
//   s.send_part(to, from)         s.receive_part(from, into)      the message goes on in the next step
//   s.combine(lower, upper, out)  s.copy(from, to)
// A sink may count, store, print, price or prove; a generator never knows which.
#ifndef BOUGH_CONCEPTS_STEP_SINK_HPP
#define BOUGH_CONCEPTS_STEP_SINK_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {
// What a StepSink needs, by name; explain_step_sink uses the same names.
template <class S>
concept TakesSends = requires(std::remove_reference_t<S>& sink, rank_t peer, slice where) {
    sink.send(peer, where);
};
template <class S>
concept TakesReceives = requires(std::remove_reference_t<S>& sink, rank_t peer, slice where) {
    sink.receive(peer, where);
};
template <class S>
concept TakesParts = requires(std::remove_reference_t<S>& sink, rank_t peer, slice where) {
    sink.send_part(peer, where);
    sink.receive_part(peer, where);
};
template <class S>
concept TakesCombines = requires(std::remove_reference_t<S>& sink, slice where) {
    sink.combine(where, where, where);
};
template <class S>
concept TakesCopies = requires(std::remove_reference_t<S>& sink, slice where) {
    sink.copy(where, where);
};
} // namespace detail

template <class S>
concept StepSink = detail::TakesSends<S> && detail::TakesReceives<S> && detail::TakesParts<S> &&
    detail::TakesCombines<S> && detail::TakesCopies<S>;

// Makes a sink of any callable that takes a step: step_sink{[&](const step& s) { ... }}.
template <class F>
requires std::invocable<F&, const step&>
class step_sink {
public:
    constexpr explicit step_sink(F f) : f_(std::move(f)) {}
    constexpr void send(rank_t to, slice from) { f_(send_step(to, from)); }
    constexpr void receive(rank_t from, slice into) { f_(receive_step(from, into)); }
    constexpr void send_part(rank_t to, slice from) { f_(send_step(to, from, true)); }
    constexpr void receive_part(rank_t from, slice into) { f_(receive_step(from, into, true)); }
    constexpr void combine(slice lower, slice upper, slice out) { f_(combine_step(lower, upper, out)); }
    constexpr void copy(slice from, slice to) { f_(copy_step(from, to)); }

private:
    F f_;
};

// Sends a step into a sink.
constexpr void push_step(StepSink auto& sink, const step& s) {
    switch (s.verb) {
    case verb::send: s.more ? sink.send_part(s.peer, s.a) : sink.send(s.peer, s.a); break;
    case verb::receive: s.more ? sink.receive_part(s.peer, s.out) : sink.receive(s.peer, s.out); break;
    case verb::combine: sink.combine(s.a, s.b, s.out); break;
    case verb::copy: sink.copy(s.a, s.out); break;
    }
}

} // namespace bough

#endif
