// SPDX-License-Identifier: BSL-1.0
// Neighbourhood collectives on grids with few messages: blocks travel one dimension after the
// other, and all that take the same step go in one message.
//
//   plan_neighbour_alltoall(by_dimension{}, around, {.size = 64})    around: a neighbourhood on a grid
//   plan_neighbour_allgather(by_dimension{}, around, {.size = 64})
//
// Ranks       those of the grid; the root does not matter
// Rounds      d_1 + d_2 + ..., where d_i offsets differ in dimension i and are not 0 there: 6
//             instead of 26 for the 27 points of a cube, 4 instead of 8 for the 9 points of a
//             square
// Traffic     a message in each round. alltoall: a block for each number of an offset that is not
//             0, 54 instead of 26 for 27 points. allgather: a block for each way on which some
//             offset begins, 26 for 27 points: no more than straight
// Scratch     a block for each one that is on its way through a rank and not for it
// Time        alpha_beta_gamma, rings: rounds alpha + beta b traffic for b bytes a block: for short blocks; an
//             allgather of a full box for all
// Determinism nothing is combined
// Pre         neighbour_allgather: a block for each rank. neighbour_alltoall: a block for each rank
//             and offset, of one length
// Errors      check(): the neighbourhood is not one of this group, or is a graph; blocks
// Source      Träff, Hunold, "Cartesian Collective Communication", ICPP 2019; Träff, Carpen-Amarie,
//             Hunold, Rougier, "Message-Combining Algorithms for Isomorphic, Sparse Collective
//             Communication", arXiv 1606.07676
//
// Picture, torus of 3 x 3, the 8 offsets of a square, what rank 0 sends in an alltoall (a block by its offset):
//   round 1  to 3    (-1,1) (0,1) (1,1)
//   round 2  to 6    (-1,-1) (0,-1) (1,-1)
//   round 3  to 1    its own (1,0); (1,1) of rank 6; (1,-1) of rank 3
//   round 4  to 2    its own (-1,0); (-1,1) of rank 6; (-1,-1) of rank 3
#ifndef BOUGH_ALGORITHM_NEIGHBOURS_BY_DIMENSION_HPP
#define BOUGH_ALGORITHM_NEIGHBOURS_BY_DIMENSION_HPP

#include <bough/algorithm/detail/dimension_routes.hpp>
#include <bough/algorithm/detail/neighbour_blocks.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/neighbourhood.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {
constexpr status check_grid(const neighbourhood& around) noexcept {
    return around.is_grid() ? status{} : invalid_argument("neighbours: a graph has no dimensions to go by");
}
} // namespace detail

// Of by_dimension, for neighbour_allgather: one copy goes on for all neighbours behind the same steps.
struct neighbour_allgather_by_dimension {
    using serves = goals<goal::neighbour_allgather>;
    neighbourhood neighbours{};

    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        const detail::dimension_routes routes(neighbours);
        if (detail::is_its_own_neighbour(neighbours, rank)) out.copy({input, rank, 1}, {output, rank, 1});
        detail::push_hops(
            routes, rank,
            [&](rank_t sender, std::uint32_t i, std::int32_t step) { return routes.allgather(sender, i, step); }, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (const status bad = detail::check_grid(neighbours)) return bad;
        return detail::check_block_per_rank_of(neighbours, at);
    }
    constexpr bough::goal::neighbour_allgather goal() const { return {neighbours}; }
    constexpr std::uint64_t identity() const {
        return bracket_family("neighbour_allgather_by_dimension") ^ neighbours.hash();
    }
    static constexpr bool any_size = false;
    constexpr label text() const { return label("neighbour_allgather_by_dimension"); }
    friend constexpr bool operator==(const neighbour_allgather_by_dimension&,
                                     const neighbour_allgather_by_dimension&) = default;
};

// Of by_dimension, for neighbour_alltoall: every block goes all of its steps.
struct neighbour_alltoall_by_dimension {
    using serves = goals<goal::neighbour_alltoall>;
    neighbourhood neighbours{};

    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        const detail::dimension_routes routes(neighbours);
        const block_t first = neighbours.first_block(rank);
        for (block_t k = 0; k != neighbours.sends(rank); ++k)
            if (routes.stays(k)) out.copy({input, first + k, 1}, {output, first + k, 1});
        detail::push_hops(
            routes, rank,
            [&](rank_t sender, std::uint32_t i, std::int32_t step) { return routes.alltoall(sender, i, step); }, out);
    }
    // How many hops a block of this place makes, at most. Pre: the neighbourhood is a grid.
    constexpr std::uint32_t hops(block_t place) const noexcept {
        const grid_neighbours& grid = neighbours.grid();
        std::uint32_t count = 0;
        for (std::uint32_t d = 0; d != grid.extents.dimensions; ++d) {
            const std::int64_t by = grid.offsets[place].by[d];
            count += (grid.ends[d] ? by : by % static_cast<std::int64_t>(grid.extents.extent[d])) != 0 ? 1 : 0;
        }
        return count;
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::blocks_of(neighbours, size); }
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (const status bad = detail::check_grid(neighbours)) return bad;
        return detail::check_block_per_place(neighbours, at);
    }
    constexpr bough::goal::neighbour_alltoall goal() const { return {neighbours}; }
    constexpr std::uint64_t identity() const {
        return bracket_family("neighbour_alltoall_by_dimension") ^ neighbours.hash();
    }
    static constexpr bool any_size = false;
    constexpr label text() const { return label("neighbour_alltoall_by_dimension"); }
    friend constexpr bool operator==(const neighbour_alltoall_by_dimension&,
                                     const neighbour_alltoall_by_dimension&) = default;
};

// The family.
struct by_dimension {
    constexpr neighbour_allgather_by_dimension algorithm_for(const goal::neighbour_allgather& of) const {
        return {of.neighbours};
    }
    constexpr neighbour_alltoall_by_dimension algorithm_for(const goal::neighbour_alltoall& of) const {
        return {of.neighbours};
    }
    constexpr label text() const { return label("by_dimension"); }
    friend constexpr bool operator==(const by_dimension&, const by_dimension&) = default;
};

} // namespace bough

#endif
