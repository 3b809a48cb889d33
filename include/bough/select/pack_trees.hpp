// SPDX-License-Identifier: BSL-1.0
// pack_trees: searches for the trees that together move the most over a network, and proves how near
// that is to the best that any plan can do there.
//
//   const auto found = pack_trees<goal::broadcast>(network, {.size = 6});   or reduce, allreduce, allgather,
//                                                                           reduce_scatter
//   plan_broadcast(found.algorithm, {.size = 6, .blocks = 64 * found.trees()})      a plan like any other
//   found.ns_per_byte            what the busiest link needs for each byte of a long vector
//   found.least_ns_per_byte      what any plan needs along the paths of the network
//   found.share()                1: it is the optimum; 0.9: no plan does more than 1 / 0.9 of it
//   pack_trees<goal::allgather>(network, {.size = 3}, {.weights = {2, 1, 1}})   rank 0 has twice as much
//
// The share of each tree comes from a linear program (bough/select/pack_trees/packing_program.hpp),
// whose columns are cheapest trees (arborescence.hpp). Then the shares become numbers of trees, at most
// options.most_trees in all, so that blocks of one size fit them.
//
// The proof is a list of prices of links, which is part of what is found. Every plan of a collective must
// send, for each byte of the vector,
//   broadcast   along a tree from the root
//   reduce      along a tree to the root
//   allreduce   along a tree to the rank that has the result first, and after that at least once to each
//               other rank; and the same backwards in time. It may send less than a tree down.
// A plan whose messages are worth at least W a byte at these prices takes W / (sum of speed x price) ns
// a byte or more. packing_bound adds that up again.
//
// Messages take the network's own paths (network::path). Where a switch would choose others, more may be
// possible: bough/simulate/network_bound.hpp has the bound for any paths.
//
// Pre      over.check(at.size) is ok
// Time     up to a tenth of a second for 8 ranks, some seconds for 16: a step takes p^3 for a tree, and
//          an allreduce looks at 2 p trees. options.most_steps limits it: what is found is right then,
//          too, and the gap may be larger
// Determinism a pure function. Doubles decide between trees that are equally good, so a compiler that
//          fuses multiplications and additions may find others: a call of ranks whose trees differ fails
// Source   packing of trees: Edmonds 1973; for collectives ForestColl, arXiv 2402.06787
#ifndef BOUGH_SELECT_PACK_TREES_HPP
#define BOUGH_SELECT_PACK_TREES_HPP

#include <bough/algorithm/packed_trees.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/pack_trees/packing_search.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/network_bound.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How far a search for packed trees goes, at most.
struct pack_options {
    std::uint32_t most_trees = 32;   // that blocks may go over, of each rank if all are roots
    std::uint32_t most_steps = 4096; // of the search
    // Of an allgather or reduce_scatter: what each rank has of the vector, in proportion, if not the
    // same.
    std::vector<double> weights{};
};

namespace detail {
packed_trees_broadcast packed_trees_for(const goal::broadcast&);
packed_trees_reduce packed_trees_for(const goal::reduce&);
packed_trees_allreduce packed_trees_for(const goal::allreduce&);
packed_trees_allgather packed_trees_for(const goal::allgather&);
packed_trees_reduce_scatter packed_trees_for(const goal::reduce_scatter&);
template <class Goal>
using packed_for = decltype(packed_trees_for(std::declval<Goal>()));
template <class Goal>
inline constexpr bool has_packed_v = requires {
    typename packed_for<Goal>;
};
} // namespace detail

// Trees that were found, and how good they are.
template <class Goal>
struct tree_packing {
    detail::packed_for<Goal> algorithm;
    double ns_per_byte = 0;
    double least_ns_per_byte = 0;
    std::vector<double> prices{}; // of each link of the network: the proof; empty: that of network_bound

    block_t trees() const noexcept {
        if constexpr (std::is_same_v<Goal, goal::allreduce>)
            return static_cast<block_t>(algorithm.up.size());
        else
            return static_cast<block_t>(algorithm.trees.size());
    }
    double share() const noexcept { return ns_per_byte == 0 ? 1 : std::min(1.0, least_ns_per_byte / ns_per_byte); }
    friend bool operator==(const tree_packing&, const tree_packing&) = default;
};

// The time a byte that these prices prove, of a plan of any kind of Goal. Weights: as in pack_options.
// Pre: prices.size() is that of the network's links, and none is below 0.
template <class Goal>
double packing_bound(const network& over, const dimensions& at, const std::vector<double>& prices,
                     const std::vector<double>& weights = {}) {
    BOUGH_EXPECTS(prices.size() == over.links().size(), "prices: one for each link of the network");
    BOUGH_EXPECTS(detail::packing_search<>::are_weights(weights, at.size), "weights: one for each rank, not all 0");
    return detail::packing_search<>(over, at, weights).least_by(Goal::kind, prices);
}

template <class Goal>
tree_packing<Goal> pack_trees(const network& over, const dimensions& at, const pack_options& options = {}) {
    static_assert(detail::has_packed_v<Goal>,
                  "bough: trees are packed for broadcast, reduce, allreduce, allgather and reduce_scatter");
    constexpr bool all = std::is_same_v<Goal, goal::allgather> || std::is_same_v<Goal, goal::reduce_scatter>;
    constexpr bool down = std::is_same_v<Goal, goal::broadcast> || std::is_same_v<Goal, goal::allgather>;
    constexpr bool both = std::is_same_v<Goal, goal::allreduce>;
    BOUGH_EXPECTS(!over.check(at.size), "pack_trees: see network.check()");
    BOUGH_EXPECTS(at.size >= 1 && at.root < at.size, "root: not a rank of the group");
    BOUGH_EXPECTS(options.most_trees >= 1, "most_trees: at least one");
    BOUGH_EXPECTS(options.most_steps >= 1, "most_steps: at least one");
    BOUGH_EXPECTS(detail::packing_search<>::are_weights(options.weights, at.size),
                  "weights: one for each rank, not all 0");
    BOUGH_EXPECTS(all || options.weights.empty(), "weights: of an allgather or a reduce_scatter");
    detail::packing_search<> search(over, at, options.weights);
    tree_packing<Goal> made;
    auto found = all ? search.find_of_all(!down, options.most_trees, options.most_steps)
                     : search.find(both || !down, both || down, options.most_trees, options.most_steps);
    if constexpr (both) {
        made.algorithm.up = std::move(found.up);
        made.algorithm.down = std::move(found.down);
    } else {
        made.algorithm.trees = std::move(down ? found.down : found.up);
    }
    made.ns_per_byte = found.ns_per_byte;
    if (at.size == 1) return made;
    made.prices = both ? search.prices_of_any_allreduce(options.most_steps) : found.prices;
    made.least_ns_per_byte = search.least_by(Goal::kind, made.prices);
    if (!options.weights.empty()) return made; // the cuts are those of equal shares
    const double by_cuts = detail::network_cuts(over, at.size).bandwidth_ns_per_byte(Goal::kind, at.root);
    if (by_cuts > made.least_ns_per_byte * (1 + 1e-9)) {
        made.least_ns_per_byte = by_cuts;
        made.prices.clear();
    }
    return made;
}

} // namespace bough

#endif
