// SPDX-License-Identifier: BSL-1.0
// neighbour_allgather: every rank gets what its neighbours have.
//
//   const neighbourhood around = grid_neighbours{.extents = {8, 8}, .offsets = star_offsets(2)};
//   neighbour_allgather(comm, in, out, around [, choice])
//   (..., ec)                            never throws; ec: a std::error_code or a bough::status
//   start_neighbour_allgather(...)       returns a bough::operation at once; no ec
//   bind_neighbour_allgather(...)        a persistent_operation, to be started many times; no ec
//
// Data        spans, or what one can be made of. `in`: a block; `out`: a block of the same length
//             for each place in which the rank receives, in order
//             (bough/schedule/neighbourhood.hpp). A place whose neighbour would lie beyond an end
//             of the grid is left as it is. There is no in-place form: `out` must not overlap `in`
// Choice      direct_neighbours{}, by_dimension{} on grids, a plan or an algorithm of this
//             neighbourhood, or automatic{}
// Agreement   every rank gives the same neighbourhood, type, length and choice
// Time        that of the plan. automatic{}: on grids by dimension, unless that has more messages or takes longer
// Determinism nothing is combined
// Errors      invalid_argument and size_overflow for wrong arguments, such as extents whose product
//             is not the number of ranks, or lists of a graph that do not fit; call_mismatch where
//             ranks do not agree, also on the neighbourhood; those of doc/design/005. `out` is
//             unspecified then, `in` is unchanged
// Source      MPI_Neighbor_allgather; bough/algorithm/neighbours/by_dimension.hpp
#ifndef BOUGH_NEIGHBOUR_ALLGATHER_HPP
#define BOUGH_NEIGHBOUR_ALLGATHER_HPP

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

template <class T, RunsCalls Comm, class Choice>
status run_neighbour_allgather(Comm& comm, std::span<const T> in, std::span<T> out, const neighbourhood& around,
                               const Choice& choice) {
    return detail::guard_call(comm, [&]() -> status {
        using goal_type = goal::neighbour_allgather;
        static_assert(explain_wire<T>());
        if (const status bad = around.check(comm.size())) return comm.refuse(bad);
        const std::size_t each = in.size();
        if (const status bad = detail::check_data(in.data(), in.size(), block_element_bytes<T>))
            return comm.refuse(bad);
        if (const status bad = detail::check_data(out.data(), out.size(), block_element_bytes<T>))
            return comm.refuse(bad);
        if (const status bad = detail::check_neighbour_output(around, comm.rank(), out.size(), each))
            return comm.refuse(bad);
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
        return detail::run_neighbours<goal_type>(
            comm, typed, around, detail::neighbour_output_of<goal_type>(around, comm.rank()), each, choice);
    });
}

struct neighbour_allgather_forms : takes<goal::neighbour_allgather, parameters{.neighbours = true}> {
    template <class On, class T, std::size_t Extent, class U, std::size_t InExtent, NotData Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, InExtent> in, std::span<T, Extent> out, const neighbourhood& around,
                       const Choice& choice = {}) {
        return detail::run_neighbour_allgather<T>(on, in, out, around, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::neighbour_allgather_forms> neighbour_allgather{};
inline constexpr detail::starting<detail::neighbour_allgather_forms> start_neighbour_allgather{};
inline constexpr detail::binding<detail::neighbour_allgather_forms> bind_neighbour_allgather{};

} // namespace bough

#endif
