// SPDX-License-Identifier: BSL-1.0
// Broadcast over any tree: a rank gets a block from its parent and passes it on to its children.
//
// Ranks       any
// Rounds      one block over a binomial tree: ceil(log2 p), which is optimal; over an f-nomial tree at most
//             (f - 1) ceil(log_f p)
// Traffic     p - 1 messages a block; a rank sends a block as often as it has children
// Scratch     none
// Time        per block and level: see bough/model/lrc_formula.hpp; blocks > 1 are pipelined
// Determinism nothing is combined
// Pre         the tree's root is the plan's root
// Errors      check() names the shape's parameter that is out of range
// Source      Moody et al. 2003, sections 5.2 and App. A (f-nomial); Gupta et al. 2003, section 5
//             (segments)
//
// Picture, p = 7, binomial, root 0:
//   round 1  0->4           round 2  0->2  4->6           round 3  0->1  2->3  4->5
#ifndef BOUGH_ALGORITHM_BROADCAST_TREE_HPP
#define BOUGH_ALGORITHM_BROADCAST_TREE_HPP

#include <bough/algorithm/tree_source.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

constexpr void broadcast_over(const auto& tree, block_t blocks, rank_t rank, StepSink auto& out) {
    const bool is_root = rank == tree.root();
    const rank_t children = tree.child_count(rank);
    const rank_t parent = tree.parent(rank);
    const buffer data = is_root ? input : output;
    for (block_t b = 0; b != blocks; ++b) {
        if (!is_root) out.receive(parent, {data, b, 1});
        for (rank_t i = 0; i != children; ++i) out.send(tree.child(rank, i), {data, b, 1});
    }
}

} // namespace detail

template <TreeSource S>
struct tree_broadcast {
    using serves = goals<goal::broadcast>;
    S shape{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::broadcast_over(bind_tree(shape, at), at.blocks, rank, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = std::conditional_t<text_tells_v<S>, tree_broadcast, void>;
    static constexpr bool steady_in_blocks = true;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const { return check_tree(shape, at); }
    constexpr label text() const { return label("tree_broadcast").field(bough::label_of(shape)); }
    friend constexpr bool operator==(const tree_broadcast&, const tree_broadcast&) = default;
};
template <class S>
tree_broadcast(S) -> tree_broadcast<S>;

// A tree source is an algorithm by itself: plan_broadcast(fnomial{.degree = 4}, {.size = 16}).
template <TreeSource S>
constexpr plan<goal::broadcast, tree_broadcast<S>> plan_broadcast(const S& source, dimensions at) {
    return {tree_broadcast<S>{source}, at};
}

} // namespace bough

#endif
