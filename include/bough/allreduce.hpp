// SPDX-License-Identifier: BSL-1.0
// allreduce: every rank gets op over the vectors of all ranks, element by element.
//
//   allreduce(comm, data, op [, choice])       in place; throws bough::error
//   allreduce(comm, in, out, op [, choice])    in.size() == out.size(), no partial overlap
//   allreduce(comm, value, op [, choice])      returns the result, for one value
//   allreduce(comm, batch [, choice])          many at once: bough/batch.hpp
//   allreduce(comm, in, out, op, partial{...}) does not wait for late ranks: bough/call/partial.hpp
//   allreduce(..., ec)                         never throws; ec: a std::error_code or a bough::status
//   start_allreduce(...)                       returns a bough::operation at once; no ec
//   bind_allreduce(...)                        a persistent_operation, to be started many times; no ec
// What is started writes its result into data of yours, also into a single variable.
//
// Data        a span or what one can be made of: a std::vector, a std::array, a C array. One value is
//             anything else that has a wire form (bough/op/wire.hpp): a number, a struct. Counts are
//             elements; none is fine
// Choice      a plan, an algorithm or family (recursive_doubling{}, ring{}), a tree source
//             (fnomial{.degree = 4}) or automatic{}, which may require properties:
//             automatic{.required = rank_consistent | order_preserving}
// Agreement   every rank gives the same count, type, op and choice
// Time        that of the plan. automatic{} takes the candidate that its costs expect to be the fastest:
//             whole vectors in about log2 p rounds for short ones, parts of them, so that each rank
//             sends about two vectors in all, for long ones (bough/select/standard/allreduce.hpp)
// Determinism the lower rank's value stands left, in a bracket that depends on the plan alone: a plan
//             gives the same bits in every run. All ranks get the same bits, unless inexact_census is
//             asked for. An op that is not known to commute gets a plan that keeps rank order. With
//             communicator_options::follow_arrivals the plan also depends on when ranks came
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The output is unspecified then, `in` is unchanged
// Source      MPI_Allreduce; each algorithm names its own
#ifndef BOUGH_ALLREDUCE_HPP
#define BOUGH_ALLREDUCE_HPP

#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/in_blocks.hpp>
#include <bough/call/in_series.hpp>
#include <bough/call/names.hpp>
#include <bough/call/partial.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/call/via_state.hpp>
#include <bough/concepts/op.hpp>
#include <bough/core/config.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/allreduce.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class T, RunsCalls Comm, class O, class Choice>
status run_allreduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, const Choice& choice) {
    static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::allreduce, Choice, true>());
    static_assert(explain_exact<Choice, O, T>());
    if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
        return comm.refuse(bad);
    if (status said; detail::repeat_call<goal::allreduce, O>(comm, in.data(), out.data(), in.size(), 0,
                                                             __builtin_addressof(op), choice, said))
        return said;
    return detail::guard_call(comm, [&]() -> status {
        typed_call<T> typed{{.size = comm.size()},
                            in.data(),
                            out.data(),
                            in.size(),
                            bough::make_any_op<T>(comm.hold(op)),
                            is_commutative_v<O>,
                            detail::signature_of<T>(op, in.size(), 0)};
        typed.exact = is_exact_v<O, T>;
        if constexpr (std::same_as<Choice, automatic>) {
            return detail::run_and_remember<goal::allreduce, O>(comm, typed, choice);
        } else {
            return detail::run_choice<goal::allreduce>(comm, typed, choice, over_trees<tree_allreduce>{});
        }
    });
}

// An op that combines states, as exact_sum.
template <class T, RunsCalls Comm, class O, class Choice>
requires LiftedOp<O, T> status run_allreduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                             const Choice& choice) {
    if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
        return comm.refuse(bad);
    if constexpr (requires { requires Op<std::remove_cvref_t<decltype(op.op)>, T>; })
        if (detail::needs_no_state<T>(op, comm.size())) return detail::run_allreduce<T>(comm, in, out, op.op, choice);
    if constexpr (CombinesMany<O, T>) {
        typed_call<T> typed{{.size = comm.size()}, in.data(), out.data(), in.size()};
        typed.signature = detail::signature_of<T>(op, in.size(), 0);
        if (status said; detail::run_in_series<goal::allreduce>(comm, typed, op, choice, said)) return said;
    }
    return detail::run_via_state(comm, in, out, op, [&]<class S>(std::span<S> states, const O& held) {
        return detail::run_allreduce<S>(comm, states, states, held, choice);
    });
}

// An op whose messages are blocks of encoded values, as quantised_sum.
template <class T, RunsCalls Comm, class O, class Choice>
requires BlockwiseOp<O, T> status run_allreduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                                const Choice& choice) {
    if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
        return comm.refuse(bad);
    return detail::run_in_blocks<goal::allreduce>(comm, in, out, rank_t{0}, op, choice);
}

// Among the ranks that have come.
template <class T, class On, class O>
status run_partial_allreduce(On& on, std::span<const T> in, std::span<T> out, const O& op, const partial& how) {
    static_assert(is_communicator_v<On>, "bough: a partial call blocks: it has no name, and is neither started, bound, "
                                         "nor awaited");
    if constexpr (is_communicator_v<On>) {
        if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
            return on.refuse(bad);
        if (const status bad = detail::check_two_vectors(in.data() == out.data() && !in.empty())) return on.refuse(bad);
        call_signature signature = detail::signature_of<T>(op, in.size(), 0);
        signature.kind = goal::allreduce::kind;
        return detail::run_partial<T>(on, out, signature, how, [&](auto& among) {
            return detail::run_allreduce<T>(among, in, out, op, automatic{});
        });
    }
}

struct allreduce_forms
    : takes<goal::allreduce, parameters{.op = true, .trees = true, .values = true, .blocks = true, .partial = true}> {
    using trees = over_trees<tree_allreduce>;
    template <class On, class T, std::size_t Extent, NotData O, NotData Choice = automatic>
    requires(!is_partial_v<Choice>) static status
        call(On& on, std::span<T, Extent> data, const O& op, const Choice& choice = {}) {
        return detail::run_allreduce<T>(on, data, data, op, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData O,
              NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const O& op,
                       const Choice& choice = {}) {
        return detail::run_allreduce<T>(on, in, out, op, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData O>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const O& op, const partial& how) {
        return detail::run_partial_allreduce<T>(on, in, out, op, how);
    }
    template <class On, std::same_as<batch> B, NotData Choice = automatic>
    static status call(On& on, const B& all, const Choice& choice = {}) {
        return all.run_allreduce(on, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::allreduce_forms> allreduce{};
inline constexpr detail::starting<detail::allreduce_forms> start_allreduce{};
inline constexpr detail::binding<detail::allreduce_forms> bind_allreduce{};

BOUGH_COMPILED_GOAL(goal::allreduce)

} // namespace bough

#endif
