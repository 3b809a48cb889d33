// SPDX-License-Identifier: BSL-1.0
// reduction_costs: what a reduction costs each rank; reduction_time: how long it takes over a tree;
// and mirrored_costs, with which the builders of broadcast trees build reduction trees.
//
//   const reduction_costs<int> costs{.send = s, .receive = r, .combine = c, .latency = 30};
//   const mirrored_costs backwards(costs);
//   const table t = fnf_tree(backwards.costs(), root);        or spoc_tree, optimal_tree, interval_tree
//   reduction_time(t, costs) == broadcast_time(t, backwards.costs())
//
// A leaf sends its value; it is there `latency` later; the parent takes `receive` and `combine` for
// it, one child after the other in receive order, and sends its own when it has all. Read backwards
// this is a broadcast, in which taking in a child's value is a send, and sending one's own is a
// receive: both times are the longest path of the same graph. So every builder of broadcast trees
// builds reductions.
// Source: duality of broadcast and reduction; costs as Banikazemi et al. 1999, with a combine.
#ifndef BOUGH_TREE_REDUCTION_HPP
#define BOUGH_TREE_REDUCTION_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The costs of each rank. An empty list stands for zeros, but not all of them may be empty.
template <CostNumber C>
struct reduction_costs {
    std::span<const C> send{};
    std::span<const C> receive{};
    std::span<const C> combine{};
    C latency{};

    constexpr std::size_t ranks() const noexcept {
        return send.size() > receive.size() ? (send.size() > combine.size() ? send.size() : combine.size())
                                            : (receive.size() > combine.size() ? receive.size() : combine.size());
    }
};

// The costs of the broadcast that is the reduction backwards.
template <CostNumber C>
class mirrored_costs {
public:
    constexpr explicit mirrored_costs(const reduction_costs<C>& given) : latency_(given.latency) {
        for (const std::span<const C> list : {given.send, given.receive, given.combine})
            BOUGH_EXPECTS(list.empty() || list.size() == given.ranks(), "costs: one for each rank, or none");
        for (std::size_t i = 0; i != given.ranks(); ++i) {
            take_in_.push_back(static_cast<C>(of(given.receive, i) + of(given.combine, i)));
            send_.push_back(of(given.send, i));
        }
    }
    // The result points into this object.
    constexpr tree_costs<C> costs() const noexcept { return {.send = take_in_, .receive = send_, .latency = latency_}; }

private:
    static constexpr C of(std::span<const C> list, std::size_t i) { return list.empty() ? C{} : list[i]; }
    std::vector<C> take_in_, send_;
    C latency_;
};
template <class C>
mirrored_costs(const reduction_costs<C>&) -> mirrored_costs<C>;

// When the root has the result. Pre: a tree. Time and memory O(size).
template <Tree T, CostNumber C>
constexpr time_of<C> reduction_time(const T& tree, const reduction_costs<C>& costs) {
    return broadcast_time(tree, mirrored_costs<C>(costs).costs());
}

} // namespace bough

#endif
