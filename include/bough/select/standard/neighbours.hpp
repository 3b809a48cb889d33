// SPDX-License-Identifier: BSL-1.0
// The standard candidates for the collectives of a neighbourhood: straight, and on grids by dimension.
//
//   choose_for_neighbours<goal::neighbour_alltoall>(around, {.size = 64}, {.bytes = 64 * 26 * 8}, costs)
#ifndef BOUGH_SELECT_STANDARD_NEIGHBOURS_HPP
#define BOUGH_SELECT_STANDARD_NEIGHBOURS_HPP

#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/schedule/neighbourhood.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/choose.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

// What may be chosen for a neighbourhood: straight, and on grids by dimension.
template <class Goal>
candidate_list neighbour_candidates(const neighbourhood& around) {
    candidate_list made{Goal::kind, {}};
    made.add(direct_neighbours{}.algorithm_for(Goal{around}));
    if (around.is_grid()) made.add(by_dimension{}.algorithm_for(Goal{around}));
    return made;
}

namespace detail {

// A grid on which a rank in the middle does the same, with no more ranks than that takes.
template <int = 0>
grid_neighbours smallest_like(grid_neighbours grid) {
    for (std::uint32_t d = 0; d != grid.extents.dimensions; ++d) {
        std::int64_t reach = 0;
        for (const grid_offset& o : grid.offsets)
            reach = std::max<std::int64_t>({reach, o.by[d], -std::int64_t{o.by[d]}});
        const auto least = static_cast<std::uint64_t>(2 * reach + 1);
        if (grid.extents.extent[d] > least) grid.extents.extent[d] = static_cast<rank_t>(least);
    }
    return grid;
}

} // namespace detail

// What these costs choose. `what.bytes`: of all blocks of all ranks. Pre: around.check(at.size) is
// ok. *Time*: if all pairs of ranks are alike, that of a grid that is just as large as the offsets
// need.
template <class Goal>
decision choose_for_neighbours(const neighbourhood& around, const dimensions& at, const problem& what,
                               const any_cost_model& costs, const choose_options& options = {}) {
    const bool has_own_cores = what.cores == no_rank || what.cores >= at.size;
    if (!around.is_grid() || !costs.homogeneous() || !has_own_cores)
        return choose(neighbour_candidates<Goal>(around), at, what, costs, options);
    grid_neighbours grid = detail::smallest_like(around.grid());
    problem less = what;
    rank_t ranks = 1;
    for (std::uint32_t d = 0; d != grid.extents.dimensions; ++d) ranks *= grid.extents.extent[d];
    less.bytes = what.bytes / at.size * ranks;
    less.cores = no_rank;
    return choose(neighbour_candidates<Goal>(std::move(grid)), {.size = ranks}, less, costs, options);
}

// The same of an alltoall whose blocks of place k have offsets[k + 1] - offsets[k] elements on
// every rank: is it by_dimension{} that is chosen? Each plan is priced with the mean length of the
// blocks that it sends, each as often as it is sent: in most stencils the long blocks make few
// hops. Pre: around is a grid.
template <int = 0>
bool combines_lengths(const neighbourhood& around, std::span<const std::uint64_t> offsets, const dimensions& at,
                      const problem& what, const any_cost_model& costs) {
    using goal_type = goal::neighbour_alltoall;
    const neighbour_alltoall_by_dimension routes{around};
    const auto places = static_cast<std::uint32_t>(around.grid().offsets.size());
    double hops = 0, moved = 0;
    for (std::uint32_t k = 0; k != places; ++k) {
        hops += routes.hops(k);
        moved += routes.hops(k) * static_cast<double>(offsets[k + 1] - offsets[k]);
    }
    if (hops == 0 || offsets[places] == 0) return false;
    problem by_hops = what;
    by_hops.bytes = static_cast<std::uint64_t>(static_cast<double>(what.bytes) * moved * places /
                                               (hops * static_cast<double>(offsets[places])));
    const auto price = [&](const problem& of, bool combined) {
        const choose_options all{.price_all = true};
        for (const prospect& p : choose_for_neighbours<goal_type>(around, at, of, costs, all).prospects)
            if ((p.what.algorithm.get<neighbour_alltoall_by_dimension>() != nullptr) == combined) return p.predicted_ns;
        return std::numeric_limits<double>::infinity();
    };
    return price(by_hops, true) * (1 + equal_price_share) < price(what, false);
}

} // namespace bough

#endif
