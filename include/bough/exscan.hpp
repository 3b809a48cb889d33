// SPDX-License-Identifier: BSL-1.0
// exscan: rank r gets op over the vectors of the ranks below r, element by element.
//
//   exscan(comm, data, op [, choice])      in place; throws bough::error
//   exscan(comm, in, out, op [, choice])   in.size() == out.size(), no partial overlap
//   exscan(comm, value, op [, choice])     returns the result, for one value; at rank 0 the op's identity,
//                                          which it must have
//   exscan(..., ec)                        never throws; ec: a std::error_code or a bough::status
//   start_exscan(...)                      returns a bough::operation at once; no ec
//   bind_exscan(...)                       a persistent_operation, to be started many times; no ec
// Nobody is below rank 0: its `out`, or `data`, stays as it is. Fill it with the op's identity before, if
// there is one. What is started writes its result into data of yours, also into a single variable.
//
// Data        a span or what one can be made of; one value is anything else that has a wire form. Counts
//             are elements; none is fine
// Choice      a plan, an algorithm (inclusive_then_exclusive{}), a family that serves exscan, or automatic{}
// Agreement   every rank gives the same count, type, op and choice
// Time        that of the plan. automatic{}: about log2 p rounds of whole vectors
//             (bough/select/standard/exscan.hpp)
// Determinism the lower rank's value stands left, in a bracket that depends on the plan and the
//             rank alone
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The output is unspecified then, `in` is unchanged
// Source      MPI_Exscan; each algorithm names its own
#ifndef BOUGH_EXSCAN_HPP
#define BOUGH_EXSCAN_HPP

#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/names.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/call/via_state.hpp>
#include <bough/core/config.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/exscan.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class T, RunsCalls Comm, class O, class Choice>
status run_exscan(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, const Choice& choice) {
    static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::exscan, Choice>());
    if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
        return comm.refuse(bad);
    T* const to = comm.rank() == 0 ? nullptr : out.data(); // nothing is written there
    if (status said;
        detail::repeat_call<goal::exscan, O>(comm, in.data(), to, in.size(), 0, __builtin_addressof(op), choice, said))
        return said;
    return detail::guard_call(comm, [&]() -> status {
        typed_call<T> typed{.at = {.size = comm.size()}, .in = in.data(), .out = to, .count = in.size()};
        typed.op = bough::make_any_op<T>(comm.hold(op));
        typed.commutative = is_commutative_v<O>;
        typed.exact = is_exact_v<O, T>;
        typed.signature = detail::signature_of<T>(op, in.size(), 0);
        if constexpr (std::same_as<Choice, automatic>)
            return detail::run_and_remember<goal::exscan, O>(comm, typed, choice);
        else
            return detail::run_choice<goal::exscan>(comm, typed, choice, [](const auto& c) { return c; });
    });
}

// An op that combines states, as exact_sum.
template <class T, RunsCalls Comm, class O, class Choice>
requires LiftedOp<O, T> status run_exscan(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                          const Choice& choice) {
    if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
        return comm.refuse(bad);
    return detail::run_via_state(comm, in, comm.rank() == 0 ? std::span<T>() : out, op,
                                 [&]<class S>(std::span<S> states, const O& held) {
                                     return detail::run_exscan<S>(comm, states, states, held, choice);
                                 });
}

template <class O, class V>
consteval bool lifted_has_identity() {
    if constexpr (LiftedOp<O, V>)
        return has_identity_v<O, state_of<O, V>>;
    else
        return false;
}

struct exscan_forms : takes<goal::exscan, parameters{.op = true, .values = true}> {
    // Nobody is below rank 0: its value becomes the op's identity.
    template <class X, class V, class... A>
    static void finish_value(const communicator<X>& comm, V& value, const A&... rest) {
        const auto become_identity = [&]<class O>(const O& op, const auto&...) {
            if constexpr (LiftedOp<O, V>) { // exact_sum has that of its states
                if constexpr (lifted_has_identity<O, V>()) {
                    if (comm.rank() == 0) value = op.lower(op.template identity<state_of<O, V>>());
                    return;
                }
            }
            static_assert(has_identity_v<O, V> || lifted_has_identity<O, V>(),
                          "bough: exscan of one value gives rank 0 the op's identity, and this op "
                          "has none: write `template <class T> static T identity()`, or give a "
                          "span, which rank 0 keeps as it is");
            if constexpr (has_identity_v<O, V>)
                if (comm.rank() == 0) value = op.template identity<V>();
        };
        if constexpr (sizeof...(A) != 0) become_identity(rest...);
    }
    template <class On, class T, std::size_t Extent, NotData O, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, const O& op, const Choice& choice = {}) {
        return detail::run_exscan<T>(on, data, data, op, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData O,
              NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const O& op,
                       const Choice& choice = {}) {
        return detail::run_exscan<T>(on, in, out, op, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::exscan_forms> exscan{};
inline constexpr detail::starting<detail::exscan_forms> start_exscan{};
inline constexpr detail::binding<detail::exscan_forms> bind_exscan{};

BOUGH_COMPILED_GOAL(goal::exscan)

} // namespace bough

#endif
