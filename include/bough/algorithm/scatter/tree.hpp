// SPDX-License-Identifier: BSL-1.0
// Scatter over any tree: a rank gets the blocks of its whole subtree from its parent, keeps its own
// and passes on the rest.
//
// Ranks       any
// Rounds      over a binomial tree: ceil(log2 p); over a flat tree p - 1
// Traffic     a block travels as many times as its rank is deep: (p / 2) log2 p blocks in all over
//             a binomial tree of p = 2^k, p - 1 over a flat one. One message an edge if subtrees
//             are intervals of ranks: a rank_ordered() shape with root 0, or ordered{shape} with
//             any root; else one for each interval
// Scratch     the blocks of the own subtree on an inner rank, less the own one if no neighbour
//             travels with it; none at the root and on leaves
// Determinism nothing is combined
// Pre         the tree's root is the plan's root; blocks may differ in length, also be empty
// Errors      check(): blocks must be the number of ranks; names the shape's parameter that is out of range
// Source      Chan, Heimlich, Purkayastha, van de Geijn 2007 (there: minimum spanning tree scatter)
//
// Picture, p = 7, binomial, root 0 (x-y: blocks x to y):
//   round 1  0->4 4-6       round 2  0->2 2-3  4->6 6       round 3  0->1 1  2->3 3  4->5 5
#ifndef BOUGH_ALGORITHM_SCATTER_TREE_HPP
#define BOUGH_ALGORITHM_SCATTER_TREE_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/subtree.hpp>
#include <bough/algorithm/tree_source.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

constexpr void scatter_over(const auto& tree, rank_t rank, StepSink auto& out) {
    const slice own{output, rank, 1};
    const bool is_root = rank == tree.root();
    subtree_slices mine = detail::slices_below(tree, rank);
    for (slice& s : mine) {
        if (is_root) {
            s = s.in(input);
        } else {
            if (s == own.in(s.buffer)) s = own; // no neighbour comes with it, so it can land in its place
            out.receive(tree.parent(rank), s);
        }
    }
    const rank_t children = tree.child_count(rank);
    for (rank_t i = 0; i != children; ++i) {
        const rank_t child = tree.child(rank, i);
        for (const slice& s : detail::slices_below(tree, child)) out.send(child, within(mine, s));
    }
    if (const slice kept = within(mine, own); kept != own) out.copy(kept, own);
}

// How many blocks a rank keeps for its subtree: those that are not in their place.
constexpr block_t subtree_scratch(const auto& tree, rank_t rank) {
    if (rank == tree.root()) return 0;
    block_t blocks = 0;
    for (const slice& s : slices_below(tree, rank))
        if (s.count != 1 || s.first != rank) blocks += s.count;
    return blocks;
}

} // namespace detail

template <TreeSource S>
struct tree_scatter {
    using serves = goals<goal::scatter>;
    S shape{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::scatter_over(bind_tree(shape, at), rank, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = std::conditional_t<text_tells_v<S>, tree_scatter, void>;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::subtree_scratch(bind_tree(shape, at), rank);
    }
    constexpr status check(const dimensions& at) const {
        if (const status bad = detail::check_block_per_rank(at)) return bad;
        return check_tree(shape, at);
    }
    constexpr label text() const { return label("tree_scatter").field(bough::label_of(shape)); }
    friend constexpr bool operator==(const tree_scatter&, const tree_scatter&) = default;
};
template <class S>
tree_scatter(S) -> tree_scatter<S>;

// A tree source is an algorithm by itself: plan_scatter(fnomial{.degree = 4}, {.size = 16}).
template <TreeSource S>
constexpr plan<goal::scatter, tree_scatter<S>> plan_scatter(const S& source, dimensions at) {
    return {tree_scatter<S>{source}, at};
}

} // namespace bough

#endif
