// SPDX-License-Identifier: BSL-1.0
// reduce: the root gets op over the vectors of all ranks, element by element.
//
//   reduce(comm, data, op, root{r} [, choice])       in place at the root; other ranks' data stay as
//                                                    they are
//   reduce(comm, in, out, op, root{r} [, choice])    out is used at the root only, where it is as long
//                                                    as in
//   reduce(comm, value, op, root{r} [, choice])      returns the result at the root; elsewhere the
//                                                    value itself
//   reduce(comm, batch, root{r} [, choice])          many at once: bough/batch.hpp
//   reduce(..., ec)                                  never throws; ec: a std::error_code or a bough::status
//   start_reduce(...)                                returns a bough::operation at once; no ec
//   bind_reduce(...)                                 a persistent_operation, to be started many times;
//                                                    no ec
// What is started writes its result into data of yours, also into a single variable.
//
// Data        a span or what one can be made of; one value is anything else that has a wire form.
//             Counts are elements; none is fine
// Choice      a plan, an algorithm or family (ring_reduce{}, circulant{}), a tree source
//             (fnomial{.degree = 4}) or automatic{}
// Agreement   every rank gives the same count, type, op, root and choice
// Time        that of the plan. automatic{}: trees for short vectors, blocks or parts of them for long
//             ones (bough/select/standard/reduce.hpp)
// Determinism the lower rank's value stands left, in a bracket that depends on the plan alone. An op
//             that is not known to commute gets a plan that keeps rank order for any root
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The output is unspecified then, `in` is unchanged
// Source      MPI_Reduce; each algorithm names its own
#ifndef BOUGH_REDUCE_HPP
#define BOUGH_REDUCE_HPP

#include <bough/algorithm/reduce/tree.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/in_blocks.hpp>
#include <bough/call/in_series.hpp>
#include <bough/call/names.hpp>
#include <bough/call/repeat_call.hpp>
#include <bough/call/via_state.hpp>
#include <bough/concepts/op.hpp>
#include <bough/core/config.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#if !BOUGH_COMPILED_ELSEWHERE
#include <bough/select/standard/reduce.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class T, RunsCalls Comm, class O, class Choice>
status run_reduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, root to, const Choice& choice) {
    static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::reduce, Choice, true>());
    const bool is_root = comm.rank() == to.rank;
    if (const status bad = is_root ? detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T))
                                   : detail::check_data(in.data(), in.size(), sizeof(T)))
        return comm.refuse(bad);
    if (to.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
    if (status said; detail::repeat_call<goal::reduce, O>(comm, in.data(), is_root ? out.data() : nullptr, in.size(),
                                                          to.rank, __builtin_addressof(op), choice, said))
        return said;
    return detail::guard_call(comm, [&]() -> status {
        typed_call<T> typed{{.size = comm.size(), .root = to.rank},
                            in.data(),
                            is_root ? out.data() : nullptr,
                            in.size(),
                            bough::make_any_op<T>(comm.hold(op)),
                            is_commutative_v<O>,
                            detail::signature_of<T>(op, in.size(), to.rank)};
        typed.exact = is_exact_v<O, T>;
        if constexpr (!std::same_as<Choice, automatic>) {
            return detail::run_choice<goal::reduce>(comm, typed, choice, over_trees<tree_reduce>{});
        } else {
            return detail::run_and_remember<goal::reduce, O>(comm, typed, choice);
        }
    });
}

// An op that combines states, as exact_sum.
template <class T, RunsCalls Comm, class O, class Choice>
requires LiftedOp<O, T> status run_reduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, root to,
                                          const Choice& choice) {
    const bool is_root = comm.rank() == to.rank;
    if (is_root)
        if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
            return comm.refuse(bad);
    if constexpr (requires { requires Op<std::remove_cvref_t<decltype(op.op)>, T>; })
        if (detail::needs_no_state<T>(op, comm.size())) return detail::run_reduce<T>(comm, in, out, op.op, to, choice);
    if constexpr (CombinesMany<O, T>) {
        if (to.rank < comm.size() && !detail::check_data(in.data(), in.size(), sizeof(T))) {
            typed_call<T> typed{
                {.size = comm.size(), .root = to.rank}, in.data(), is_root ? out.data() : nullptr, in.size()};
            typed.signature = detail::signature_of<T>(op, in.size(), to.rank);
            if (status said; detail::run_in_series<goal::reduce>(comm, typed, op, choice, said)) return said;
        }
    }
    return detail::run_via_state(comm, in, is_root ? out : std::span<T>(), op,
                                 [&]<class S>(std::span<S> states, const O& held) {
                                     return detail::run_reduce<S>(comm, states, states, held, to, choice);
                                 });
}

// An op whose messages are blocks of encoded values, as quantised_sum.
template <class T, RunsCalls Comm, class O, class Choice>
requires BlockwiseOp<O, T> status run_reduce(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, root to,
                                             const Choice& choice) {
    const bool is_root = comm.rank() == to.rank;
    if (is_root)
        if (const status bad = detail::check_pair(in.data(), in.size(), out.data(), out.size(), sizeof(T)))
            return comm.refuse(bad);
    if (to.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
    return detail::run_in_blocks<goal::reduce>(comm, in, is_root ? out : std::span<T>(), to.rank, op, choice);
}

struct reduce_forms
    : takes<goal::reduce, parameters{.op = true, .root = true, .trees = true, .values = true, .blocks = true}> {
    using trees = over_trees<tree_reduce>;
    template <class On, class T, std::size_t Extent, NotData O, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, const O& op, root to, const Choice& choice = {}) {
        return detail::run_reduce<T>(on, data, data, op, to, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData O,
              NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const O& op, root to,
                       const Choice& choice = {}) {
        return detail::run_reduce<T>(on, in, out, op, to, choice);
    }
    template <class On, std::same_as<batch> B, NotData Choice = automatic>
    static status call(On& on, const B& all, root to, const Choice& choice = {}) {
        return all.run_reduce(on, to, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::reduce_forms> reduce{};
inline constexpr detail::starting<detail::reduce_forms> start_reduce{};
inline constexpr detail::binding<detail::reduce_forms> bind_reduce{};

BOUGH_COMPILED_GOAL(goal::reduce)

} // namespace bough

#endif
