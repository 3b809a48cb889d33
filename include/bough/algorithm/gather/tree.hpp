// SPDX-License-Identifier: BSL-1.0
// Gather over any tree: a rank collects the blocks of its subtree, its own among them, and sends
// them to its parent.
//
// It is the scatter over the same tree, backwards (bough/algorithm/mirror.hpp).
// Ranks       any
// Rounds      over a binomial tree: ceil(log2 p); over a flat tree p - 1
// Traffic     a block travels as many times as its rank is deep: (p / 2) log2 p blocks in all over
//             a binomial tree of p = 2^k, p - 1 over a flat one. One message an edge if subtrees
//             are intervals of ranks: a rank_ordered() shape with root 0, or ordered{shape} with
//             any root; else one for each interval
// Scratch     the blocks of the own subtree on an inner rank, less the own one if no neighbour
//             travels with it; none at the root, where blocks land in their place, and none on
//             leaves
// Determinism nothing is combined
// Pre         the tree's root is the plan's root; blocks may differ in length, also be empty
// Errors      check(): blocks must be the number of ranks; names the shape's parameter that is out of range
// Source      Chan, Heimlich, Purkayastha, van de Geijn 2007 (there: minimum spanning tree gather)
//
// Picture, p = 7, binomial, root 0 (x-y: blocks x to y):
//   round 1  1->0 1  3->2 3  5->4 5       round 2  2->0 2-3  6->4 6       round 3  4->0 4-6
#ifndef BOUGH_ALGORITHM_GATHER_TREE_HPP
#define BOUGH_ALGORITHM_GATHER_TREE_HPP

#include <bough/algorithm/mirror.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/core/label.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

template <TreeSource S>
struct tree_gather {
    using serves = goals<goal::gather>;
    S shape{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        schedule downward;
        detail::scatter_over(bind_tree(shape, at), rank, downward);
        detail::mirror_steps(downward, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = std::conditional_t<text_tells_v<S>, tree_gather, void>;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::subtree_scratch(bind_tree(shape, at), rank);
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = detail::check_block_per_rank(at)) return bad;
        return check_tree(shape, at);
    }
    constexpr label text() const { return label("tree_gather").field(bough::label_of(shape)); }
    friend constexpr bool operator==(const tree_gather&, const tree_gather&) = default;
};
template <class S>
tree_gather(S) -> tree_gather<S>;

// A tree source is an algorithm by itself: plan_gather(fnomial{.degree = 4}, {.size = 16}).
template <TreeSource S>
constexpr plan<goal::gather, tree_gather<S>> plan_gather(const S& source, dimensions at) {
    return {tree_gather<S>{source}, at};
}

} // namespace bough

#endif
