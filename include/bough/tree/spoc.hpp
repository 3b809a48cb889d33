// SPDX-License-Identifier: BSL-1.0
// spoc_tree: a binomial tree whose busiest places are given to the fastest ranks (speed-partitioned
// ordered chain).
//
// Places are sorted by their number of descendants, most first, ranks by send cost, fastest first;
// the root stays where it is. Ties go to the lower place and the lower rank. Both orientations of
// the binomial tree are there: see bough/tree/binomial.hpp. Equal costs give the binomial tree.
//
//   costs 1 3 3 3 3 1 3 3, root 0      0(3 1(4) 5(6 2(7)))     500 for 100 and 300; the binomial tree of ranks: 700
//
// Time O(n log n). spoc_bound is an upper bound of its broadcast time: formula (1) of the paper,
// the time of phases in lock step, in each of which all ranks that have the message send it.
// Source: Banikazemi, Moorthy, Panda, "Efficient Collective Communication on Heterogeneous Networks
// of Workstations", ICPP 1998, section 4 (its loop in Fig. 2 runs one place too far).
#ifndef BOUGH_TREE_SPOC_HPP
#define BOUGH_TREE_SPOC_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/detail/fastest_first.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <CostNumber C>
constexpr table spoc_tree(const tree_costs<C>& costs, rank_t root = 0,
                          bough::orientation orientation = bough::orientation::low) {
    const detail::node_times<time_of<C>> times(costs);
    const rank_t n = times.size();
    BOUGH_EXPECTS(root < n, "root: the root of a tree must be one of its ranks, so below size");
    const binomial shape{.orientation = orientation};

    // A child has a higher number than its parent, in both orientations.
    std::vector<rank_t> descendants(n, 0);
    for (rank_t v = n - 1; v != 0; --v) descendants[shape.parent(v, n)] += descendants[v] + 1;
    std::vector<rank_t> places;
    places.reserve(n);
    for (rank_t v = 1; v != n; ++v) places.push_back(v);
    std::sort(places.begin(), places.end(), [&](rank_t a, rank_t b) {
        return descendants[a] != descendants[b] ? descendants[a] > descendants[b] : a < b;
    });

    const std::vector<rank_t> ranks = detail::fastest_first(times, root);
    std::vector<rank_t> at(n, root);
    for (rank_t i = 0; i + 1 != n; ++i) at[places[i]] = ranks[i];
    std::vector<tree_edge> edges;
    edges.reserve(n);
    for (rank_t v = 0; v != n; ++v) {
        const rank_t children = shape.child_count(v, n);
        for (rank_t i = 0; i != children; ++i) edges.push_back({at[v], at[shape.child(v, n, i)]});
    }
    return table(n, root, edges);
}
template <class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr table spoc_tree(std::span<C, Extent> send, rank_t root = 0,
                          bough::orientation orientation = bough::orientation::low) {
    return spoc_tree(tree_costs<std::remove_const_t<C>>{.send = send}, root, orientation);
}

// The tree for send costs alone.
template <class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr auto spoc_bound(std::span<C, Extent> send, rank_t root = 0) {
    using cost = std::remove_const_t<C>;
    const detail::node_times<time_of<cost>> times(tree_costs<cost>{.send = send});
    BOUGH_EXPECTS(root < times.size(), "root: the root of a tree must be one of its ranks, so below size");
    const std::vector<rank_t> ranks = detail::fastest_first(times, root);
    time_of<cost> sum{};
    for (std::size_t have = 1; have < times.size(); have *= 2)
        sum += std::max(times.send[root], have == 1 ? times.send[root] : times.send[ranks[have - 2]]);
    return sum;
}

} // namespace bough

#endif
