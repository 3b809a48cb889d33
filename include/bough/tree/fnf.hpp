// SPDX-License-Identifier: BSL-1.0
// fnf_tree: the fastest rank that has no message yet gets it next, from the sender that is done first.
//
//   fnf_tree(std::span(send_cost_ns), root)                      send costs alone
//   fnf_tree(tree_costs<int>{.send = s, .receive = r, .latency = 30}, root)
//   fnf_search_tree(costs, root)                                 the same, then improved by moving ranks in the order
//
//   costs 1 3 3 3 3 1 3 3, root 0     0(6 3 1 5(7 4 2))     400 for 100 and 300, which is optimal
//
// Ranks of equal cost get the message in rank order. If senders end at the same time, the one that
// had the message first serves first. So the tree is the same on all ranks and machines, as long as
// the costs are. With send costs alone the tree is optimal for the sum of all completion times. For
// the last one it is at most 1.5 times the optimum: often equal to it, and 1 to 5 per cent above it
// in the mean, more with more ranks and more different costs
// (doc/algorithms/heterogeneous_trees.md). Equal costs give an optimal tree.
// Time O(n log n).
// Source: Banikazemi, Moorthy, Panda, "Efficient Collective Communication on Heterogeneous Networks
// of Workstations", ICPP 1998, section 6; Banikazemi, Sampathkumar, Prabhu, Panda, Sadayappan,
// "Communication Modeling of Heterogeneous Networks of Workstations for Performance
// Characterization of Collective Operations", HCW 1999 (receive costs); Khuller, Kim, "Broadcasting
// in Heterogeneous Networks", Algorithmica 48, 2007 (the factor of 1.5).
#ifndef BOUGH_TREE_FNF_HPP
#define BOUGH_TREE_FNF_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/detail/earliest_sender.hpp>
#include <bough/tree/detail/fastest_first.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How long fnf_search_tree may search, as the number of messages that it delivers on trial.
struct fnf_search {
    std::uint64_t deliveries = 20'000'000;
    friend constexpr bool operator==(const fnf_search&, const fnf_search&) = default;
};

namespace detail {

// Reinsertion: takes one rank out of the order and puts it elsewhere, as long as that brings the
// last delivery forward.
template <class Time>
constexpr Time improve_order(const node_times<Time>& times, rank_t root, std::vector<rank_t>& order,
                             std::uint64_t budget) {
    sender_queue<Time> queue;
    const auto nothing = [](rank_t, rank_t) {};
    Time best = deliver(times, root, std::span<const rank_t>(order), queue, static_cast<const Time*>(nullptr), nothing);
    const auto alike = [&](rank_t a, rank_t b) {
        return !(times.send[a] != times.send[b]) && !(times.arrive[a] != times.arrive[b]);
    };
    std::vector<rank_t> trial;
    for (bool better = true; better;) {
        better = false;
        for (std::size_t from = 0; from != order.size(); ++from) {
            for (std::size_t to = 0; to != order.size(); ++to) {
                if (from == to || alike(order[from], order[to])) continue;
                if (budget < order.size()) return best;
                budget -= order.size();
                trial = order;
                const auto at = [&](std::size_t i) { return trial.begin() + static_cast<std::ptrdiff_t>(i); };
                if (from < to)
                    std::rotate(at(from), at(from + 1), at(to + 1));
                else
                    std::rotate(at(to), at(from), at(from + 1));
                const Time reached = deliver(times, root, std::span<const rank_t>(trial), queue, &best, nothing);
                if (reached < best) {
                    best = reached;
                    order.swap(trial);
                    better = true;
                }
            }
        }
    }
    return best;
}

} // namespace detail

template <CostNumber C>
constexpr table fnf_tree(const tree_costs<C>& costs, rank_t root = 0) {
    const detail::node_times<time_of<C>> times(costs);
    BOUGH_EXPECTS(root < times.size(), "root: the root of a tree must be one of its ranks, so below size");
    return detail::delivered(times, root, std::span<const rank_t>(detail::fastest_first(times, root)));
}
template <class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr table fnf_tree(std::span<C, Extent> send, rank_t root = 0) {
    return fnf_tree(tree_costs<std::remove_const_t<C>>{.send = send}, root);
}

// Time O(n^3 log n) a pass, or what `limits` allow; never worse than fnf_tree.
template <CostNumber C>
constexpr table fnf_search_tree(const tree_costs<C>& costs, rank_t root = 0, const fnf_search& limits = {}) {
    const detail::node_times<time_of<C>> times(costs);
    BOUGH_EXPECTS(root < times.size(), "root: the root of a tree must be one of its ranks, so below size");
    std::vector<rank_t> order = detail::fastest_first(times, root);
    detail::improve_order(times, root, order, limits.deliveries);
    return detail::delivered(times, root, std::span<const rank_t>(order));
}
template <class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr table fnf_search_tree(std::span<C, Extent> send, rank_t root = 0, const fnf_search& limits = {}) {
    return fnf_search_tree(tree_costs<std::remove_const_t<C>>{.send = send}, root, limits);
}

} // namespace bough

#endif
