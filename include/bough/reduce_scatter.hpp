// SPDX-License-Identifier: BSL-1.0
// reduce_scatter: the vectors of all ranks are combined element by element and cut into one block a rank;
// rank b gets block b.
//
//   reduce_scatter(comm, in, out, op [, choice])            in: size() times as long as out
//   reduce_scatter(comm, data, op [, choice])               in place: data is the whole vector; afterwards this
//                                                           rank's block of it, data[rank() * n] to
//                                                           data[(rank() + 1) * n - 1], is its result,
//                                                           and the other blocks are unspecified
//   reduce_scatterv(comm, in, out, counts, op [, choice])   blocks that differ in length: rank r's has counts[r]
//   reduce_scatterv(comm, data, counts, op [, choice])      the same in place: the result is where the block lies
//   (..., ec)                                               never throws; ec: a std::error_code or a bough::status
//   start_reduce_scatter(...), start_reduce_scatterv(...)   return a bough::operation at once; no ec
//   bind_reduce_scatter(...), bind_reduce_scatterv(...)     a persistent_operation, to be started many times; no ec
//
// Data        spans, or what one can be made of; counts are std::size_t, of elements, and may be 0
// Choice      a plan with as many blocks for each rank, an algorithm (circulant_reduce_scatter{}), a
//             family that serves reduce_scatter, or automatic{}
// Agreement   every rank gives the same counts (all of them), type, op and choice. A reduce_scatter and a
//             reduce_scatterv do not match
// Time        that of the plan. All standard candidates send as little as there can be, (p - 1) / p of
//             the vector a rank; they differ in rounds (bough/select/standard/reduce_scatter.hpp)
// Determinism the lower rank's value stands left, in a bracket that depends on the plan alone. An op that
//             is not known to commute needs a plan that keeps rank order
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. `out`, or `data`, is unspecified then; `in` is unchanged
// Source      MPI_Reduce_scatter_block, MPI_Reduce_scatter; each algorithm names its own
#ifndef BOUGH_REDUCE_SCATTER_HPP
#define BOUGH_REDUCE_SCATTER_HPP

#include <bough/call/blocks.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/in_series.hpp>
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
#include <bough/select/standard/reduce_scatter.hpp>
#endif

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class T, RunsCalls Comm>
status check_reduce_scatter(const Comm& comm, std::span<const T> whole, std::span<T> own, const rank_blocks& blocks) {
    return check_blocks({own.data(), own.size(), whole.data(), whole.size()}, blocks, comm.rank(), true, sizeof(T),
                        "in: must hold one block for every rank",
                        "out: overlaps the input, but not as this rank's own block in its place");
}

// `whole`: the vector; `own`: this rank's block of the result.
template <class T, RunsCalls Comm, class O, class Choice>
status reduce_scatter_blocks(Comm& comm, std::span<const T> whole, std::span<T> own, const rank_blocks& blocks,
                             const O& op, const Choice& choice) {
    static_assert(explain_written<T>() && explain_op<O, T>() && explain_choice<goal::reduce_scatter, Choice>());
    if (const status bad = detail::check_reduce_scatter(comm, whole, own, blocks)) return comm.refuse(bad);
    if (status said; blocks.offsets().empty() &&
                     detail::repeat_call<goal::reduce_scatter, O>(comm, whole.data(), own.data(), blocks.total(), 0,
                                                                  __builtin_addressof(op), choice, said))
        return said;
    typed_call<T> typed{.at = {.size = comm.size()}, .count = blocks.total()};
    typed.op = bough::make_any_op<T>(comm.hold(op));
    typed.commutative = is_commutative_v<O>;
    typed.exact = is_exact_v<O, T>;
    typed.in_parts = true;
    typed.in = whole.data();
    typed.in_part = {0, whole.size()};
    typed.out = own.data();
    typed.out_part = {comm.rank(), own.size()};
    typed.offsets = blocks.offsets();
    typed.signature = detail::signature_of<T>(op, blocks.signature_count(), 0);
    return detail::run_blocks<goal::reduce_scatter, O>(comm, typed, comm.size(), choice);
}
// An op that combines states, as exact_sum.
template <class T, RunsCalls Comm, class O, class Choice>
requires LiftedOp<O, T> status reduce_scatter_blocks(Comm& comm, std::span<const T> whole, std::span<T> own,
                                                     const rank_blocks& blocks, const O& op, const Choice& choice) {
    if (const status bad = detail::check_reduce_scatter(comm, whole, own, blocks)) return comm.refuse(bad);
    if constexpr (CombinesMany<O, T>) {
        typed_call<T> typed{
            .at = {.size = comm.size()}, .in = whole.data(), .out = own.data(), .count = blocks.total()};
        typed.in_parts = true;
        typed.in_part = {0, whole.size()};
        typed.out_part = {comm.rank(), own.size()};
        typed.offsets = blocks.offsets();
        typed.signature = detail::signature_of<T>(op, blocks.signature_count(), 0);
        if (status said; detail::run_in_series<goal::reduce_scatter>(comm, typed, op, choice, said)) return said;
    }
    return detail::run_via_state(comm, whole, std::span<T>(), op, [&]<class S>(std::span<S> states, const O& held) {
        const std::span<S> mine = detail::own_block(states, blocks, comm.rank());
        const status ended = detail::reduce_scatter_blocks<S>(comm, states, mine, blocks, held, choice);
        return comm.then(ended, [&held, mine, own] {
            for (std::size_t i = 0; i != own.size(); ++i) own[i] = held.lower(mine[i]);
        });
    });
}

template <class T, RunsCalls Comm, class O, class Choice>
status run_reduce_scatter(Comm& comm, std::span<const T> in, std::span<T> out, const O& op, const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::equal(comm.size(), out.size(), block_element_bytes<T>);
        return detail::reduce_scatter_blocks<T>(comm, in, out, blocks, op, choice);
    });
}
template <class T, RunsCalls Comm, class O, class Choice>
status run_reduce_scatterv(Comm& comm, std::span<const T> in, std::span<T> out, std::span<const std::size_t> counts,
                           const O& op, const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        return detail::reduce_scatter_blocks<T>(comm, in, out, blocks, op, choice);
    });
}
template <class T, RunsCalls Comm, class O, class Choice>
status reduce_scatter_in_place(Comm& comm, std::span<T> data, const O& op, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        if (const status bad = check_equal_cut(data.size(), comm.size())) return comm.refuse(bad);
        const auto blocks = rank_blocks::equal(comm.size(), data.size() / comm.size(), block_element_bytes<T>);
        return detail::reduce_scatter_blocks<T>(comm, data, own_block(data, blocks, comm.rank()), blocks, op, choice);
    });
}
template <class T, RunsCalls Comm, class O, class Choice>
status reduce_scatterv_in_place(Comm& comm, std::span<T> data, std::span<const std::size_t> counts, const O& op,
                                const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        const auto blocks = rank_blocks::of(comm.size(), counts, block_element_bytes<T>);
        if (const status bad = check_sum(data.size(), blocks)) return comm.refuse(bad);
        return detail::reduce_scatter_blocks<T>(comm, data, own_block(data, blocks, comm.rank()), blocks, op, choice);
    });
}

struct reduce_scatter_forms : takes<goal::reduce_scatter, parameters{.op = true}> {
    template <class On, class T, std::size_t Extent, NotData O, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, const O& op, const Choice& choice = {}) {
        return detail::reduce_scatter_in_place<T>(on, data, op, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData O,
              NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const O& op,
                       const Choice& choice = {}) {
        return detail::run_reduce_scatter<T>(on, in, out, op, choice);
    }
};
struct reduce_scatterv_forms : takes<goal::reduce_scatter, parameters{.op = true, .lists = true}> {
    template <class On, class T, std::size_t Extent, NotData O, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, std::span<const std::size_t> counts, const O& op,
                       const Choice& choice = {}) {
        return detail::reduce_scatterv_in_place<T>(on, data, counts, op, choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData O,
              NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, std::span<const std::size_t> counts,
                       const O& op, const Choice& choice = {}) {
        return detail::run_reduce_scatterv<T>(on, in, out, counts, op, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::reduce_scatter_forms> reduce_scatter{};
inline constexpr detail::starting<detail::reduce_scatter_forms> start_reduce_scatter{};
inline constexpr detail::binding<detail::reduce_scatter_forms> bind_reduce_scatter{};

inline constexpr detail::blocking<detail::reduce_scatterv_forms> reduce_scatterv{};
inline constexpr detail::starting<detail::reduce_scatterv_forms> start_reduce_scatterv{};
inline constexpr detail::binding<detail::reduce_scatterv_forms> bind_reduce_scatterv{};

BOUGH_COMPILED_GOAL(goal::reduce_scatter)

} // namespace bough

#endif
