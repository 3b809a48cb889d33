// SPDX-License-Identifier: BSL-1.0
// fastest_first: all ranks but the root by send cost, then by what it takes to receive, then by number.
#ifndef BOUGH_TREE_DETAIL_FASTEST_FIRST_HPP
#define BOUGH_TREE_DETAIL_FASTEST_FIRST_HPP

#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>

#include <algorithm>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Time>
constexpr std::vector<rank_t> fastest_first(const node_times<Time>& times, rank_t root) {
    std::vector<rank_t> ranks;
    ranks.reserve(times.size());
    for (rank_t r = 0; r != times.size(); ++r)
        if (r != root) ranks.push_back(r);
    std::sort(ranks.begin(), ranks.end(), [&](rank_t a, rank_t b) {
        if (times.send[a] != times.send[b]) return times.send[a] < times.send[b];
        return times.arrive[a] != times.arrive[b] ? times.arrive[a] < times.arrive[b] : a < b;
    });
    return ranks;
}

} // namespace bough::detail

#endif
