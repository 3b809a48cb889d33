// SPDX-License-Identifier: BSL-1.0
// LiftedOp: an op whose messages are not what the user holds: values are lifted into states, states
// are combined.
//
//   typename O::template state_type<T>    what travels; O is an Op on it
//   op.lift(x)      -> state_type<T>      one value
//   op.lower(state) -> T                  the result
// A front door given such an op and a span of T lifts, combines and lowers. If you keep states of
// your own, call it with a span of them: there the op is an ordinary one.
#ifndef BOUGH_OP_LIFT_HPP
#define BOUGH_OP_LIFT_HPP

#include <bough/concepts/op.hpp>
#include <bough/op/wire.hpp>

#include <concepts>

namespace bough::inline BOUGH_ABI {

template <class O, class T>
concept LiftedOp = !Op<O, T> && requires(const O& op, const T& x, const typename O::template state_type<T>& state) {
    requires Op<O, typename O::template state_type<T>>;
    requires WireType<typename O::template state_type<T>>;
    { op.lift(x) } -> std::convertible_to<typename O::template state_type<T>>;
    { op.lower(state) } -> std::convertible_to<T>;
};

template <class O, class T>
requires LiftedOp<O, T>
using state_of = typename O::template state_type<T>;

} // namespace bough

#endif
