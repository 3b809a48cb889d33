// SPDX-License-Identifier: BSL-1.0
// neighbour_alltoall: every rank has a block for each of its neighbours.
//
//   const neighbourhood around = grid_neighbours{.extents = {4, 4, 4}, .offsets = box_offsets(3)};
//   neighbour_alltoall(comm, in, out, around [, choice])     blocks of one length
//   neighbour_alltoallv(comm, in, send_counts, out, receive_counts, around [, choice])
//                                        blocks that differ in length, one behind the other
//   neighbour_alltoallv(comm, in, counts, out, around [, choice])
//                                        on a grid: those of an offset have the same length on all ranks
//   (..., ec)                            never throws; ec: a std::error_code or a bough::status
//   start_neighbour_alltoall(...), start_neighbour_alltoallv(...)    return a bough::operation at once; no ec
//   bind_neighbour_alltoall(...), bind_neighbour_alltoallv(...)      a persistent_operation; no ec
//
// Data        spans, or what one can be made of. `in`: a block for each place from which the rank
//             sends, `out`: one for each in which it receives, in order
//             (bough/schedule/neighbourhood.hpp). On a grid, block k of `in` becomes block k of
//             `out` of the rank that is offsets[k] further. Blocks of places without a neighbour
//             are not looked at, or left as they are. There is no in-place form: `out` must not
//             overlap `in`
// Counts      a number of elements for each place, in order, also for those without a neighbour
// Choice      direct_neighbours{}, by_dimension{} on grids, a plan or an algorithm of this
//             neighbourhood, or automatic{}. With two lists of counts only plans that send every
//             block straight to its rank; others are refused, as they pass on blocks whose lengths
//             only the two ends know
// Agreement   every rank gives the same neighbourhood, type and choice. neighbour_alltoall: blocks
//             have the same length on all ranks. One list of counts: it is the same on all ranks.
//             Two lists: blocks are as long where they leave as where they arrive; if not, that is
//             an error (call_mismatch) where they arrive, at the others from this call or their
//             next one
// Time        that of the plan. automatic{}: on grids by dimension if blocks are short: 6 messages instead of 26 for a
//             cube
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments, such as extents whose product
//             is not the number of ranks, or lists of a graph that do not fit; call_mismatch where
//             ranks do not agree, also on the neighbourhood; those of doc/design/005. `out` is
//             unspecified then, `in` is unchanged
// Source      MPI_Neighbor_alltoall, MPI_Neighbor_alltoallv;
//             bough/algorithm/neighbours/by_dimension.hpp
#ifndef BOUGH_NEIGHBOUR_ALLTOALL_HPP
#define BOUGH_NEIGHBOUR_ALLTOALL_HPP

#include <bough/call/forms.hpp>
#include <bough/call/names.hpp>
#include <bough/call/neighbours.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

// `each`: the elements of a block, 0 if they differ in length. `counts`: their lengths then.
template <class T, RunsCalls Comm, class Choice>
status run_neighbour_blocks(Comm& comm, std::span<const T> in, std::span<T> out, const neighbourhood& around,
                            std::size_t each, const neighbour_counts* counts, const Choice& choice) {
    using goal_type = goal::neighbour_alltoall;
    static_assert(explain_wire<T>());
    if (const status bad = detail::check_data(in.data(), in.size(), block_element_bytes<T>)) return comm.refuse(bad);
    if (const status bad = detail::check_data(out.data(), out.size(), block_element_bytes<T>)) return comm.refuse(bad);
    if (detail::share_memory(in, out))
        return comm.refuse(invalid_argument("out: overlaps the input, and there is no in-place form"));
    typed_call<T> typed{.at = {.size = comm.size()}};
    if (const status bad =
            detail::place_neighbours<goal_type>(typed, around, comm.rank(), each, block_element_bytes<T>))
        return comm.refuse(bad);
    typed.in = in.data();
    typed.in_part.count = in.size();
    typed.out = out.data();
    typed.out_part = {0, out.size()};
    typed.signature = signature_of<T, void>(each, 0);
    if (counts != nullptr) detail::set_lengths(typed, counts->row, counts->column, counts->each_alike);
    return detail::run_neighbours<goal_type>(comm, typed, around,
                                             detail::neighbour_output_of<goal_type>(around, comm.rank()), each, choice);
}

template <class T, RunsCalls Comm, class Choice>
status run_neighbour_alltoall(Comm& comm, std::span<const T> in, std::span<T> out, const neighbourhood& around,
                              const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        if (const status bad = around.check(comm.size())) return comm.refuse(bad);
        std::size_t each = 0;
        if (const status bad = detail::check_neighbour_lengths(around, comm.rank(), in.size(), out.size(), each))
            return comm.refuse(bad);
        return detail::run_neighbour_blocks<T>(comm, in, out, around, each, nullptr, choice);
    });
}

// `make_counts()`: the counts of both sides. It is called when the neighbourhood is known to be right.
template <class T, RunsCalls Comm, class F, class Choice>
status run_neighbour_alltoallv(Comm& comm, std::span<const T> in, std::span<T> out, const neighbourhood& around,
                               const F& make_counts, const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        if (const status bad = around.check(comm.size())) return comm.refuse(bad);
        const neighbour_counts counts = make_counts();
        if (const status bad = counts.check(in.size(), out.size())) return comm.refuse(bad);
        return detail::run_neighbour_blocks<T>(comm, in, out, around, 0, &comm.hold(counts), choice);
    });
}

struct neighbour_alltoall_forms : takes<goal::neighbour_alltoall, parameters{.neighbours = true}> {
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const neighbourhood& around,
                       const Choice& choice = {}) {
        return detail::run_neighbour_alltoall<T>(on, in, out, around, choice);
    }
};
struct neighbour_alltoallv_forms : takes<goal::neighbour_alltoall, parameters{.lists = true, .neighbours = true}> {
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<const std::size_t> send_counts,
                       std::span<T, Extent> out, std::span<const std::size_t> receive_counts,
                       const neighbourhood& around, const Choice& choice = {}) {
        return detail::run_neighbour_alltoallv<T>(
            on, in, out, around,
            [&] { return neighbour_counts(around, on.rank(), send_counts, receive_counts, block_element_bytes<T>); },
            choice);
    }
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<const std::size_t> counts, std::span<T, Extent> out,
                       const neighbourhood& around, const Choice& choice = {}) {
        return detail::run_neighbour_alltoallv<T>(
            on, in, out, around, [&] { return neighbour_counts(around, on.rank(), counts, block_element_bytes<T>); },
            choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::neighbour_alltoall_forms> neighbour_alltoall{};
inline constexpr detail::starting<detail::neighbour_alltoall_forms> start_neighbour_alltoall{};
inline constexpr detail::binding<detail::neighbour_alltoall_forms> bind_neighbour_alltoall{};

inline constexpr detail::blocking<detail::neighbour_alltoallv_forms> neighbour_alltoallv{};
inline constexpr detail::starting<detail::neighbour_alltoallv_forms> start_neighbour_alltoallv{};
inline constexpr detail::binding<detail::neighbour_alltoallv_forms> bind_neighbour_alltoallv{};

} // namespace bough

#endif
