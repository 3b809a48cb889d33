// SPDX-License-Identifier: BSL-1.0
// Reduce over any tree: a rank combines what its children send with its own, then sends to its parent.
//
// Ranks       any
// Op          any associative op if the tree keeps rank order: a rank_ordered() shape with root 0,
//             or ordered{shape} with any root. Otherwise a commutative op (verify tells:
//             needs_commutative)
// Rounds      one block over a binomial tree: ceil(log2 p); over an f-nomial tree at most (f - 1)
//             ceil(log_f p)
// Traffic     p - 1 messages a block
// Combines    p - 1 blocks in all; a rank combines a block as often as it has children
// Scratch     (children + 1) planes on an inner rank, children planes at the root; at most landing
//             (+ 1) if that is set
// Time        C + sum over levels of L + children (r + c): see bough/model/lrc_formula.hpp; blocks
//             > 1 are pipelined
// Determinism the bracket depends on the tree alone: same bits every time, for any timing
// Pre         the tree's root is the plan's root
// Errors      check() names the shape's parameter that is out of range
// Source      Moody et al. 2003, section 5.2 and App. A; Gupta et al. 2003, section 5.2 (degree-k)
//
// Picture, p = 7, binomial, root 0 (x+y: op over the ranks x to y):
//   round 1  1->0  3->2  5->4          0+1   2+3   4+5   6
//   round 2  2->0  6->4                0+3         4+6
//   round 3  4->0                      0+6
#ifndef BOUGH_ALGORITHM_REDUCE_TREE_HPP
#define BOUGH_ALGORITHM_REDUCE_TREE_HPP

#include <bough/algorithm/tree_source.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

// How many planes the children of one rank land in.
constexpr rank_t landing_planes(rank_t children, std::uint32_t landing) noexcept {
    return landing == 0 ? children : std::min<rank_t>(children, landing);
}

// The steps by which `rank` combines one block of its children with its own into `acc`. Child i (in
// receive order) lands in plane first_plane + i modulo the number of planes. The operand of the
// lower rank stands left.
constexpr void gather_children(const auto& tree, rank_t rank, block_t b, buffer acc, std::uint32_t first_plane,
                               std::uint32_t planes, StepSink auto& out) {
    const rank_t children = tree.child_count(rank);
    buffer have = input;
    for (rank_t i = 0; i != children; ++i) {
        const rank_t child = tree.child(rank, children - 1 - i);
        const slice landed{scratch(first_plane + i % planes), b, 1};
        out.receive(child, landed);
        if (child < rank)
            out.combine(landed, {have, b, 1}, {acc, b, 1});
        else
            out.combine({have, b, 1}, landed, {acc, b, 1});
        have = acc;
    }
}

// Sends all blocks up the tree. A rank's result is in `acc`, or is its input if it has no children;
// all ranks but the root send it on.
constexpr void reduce_upwards(const auto& tree, const dimensions& at, rank_t rank, buffer acc,
                              std::uint32_t first_plane, std::uint32_t landing, StepSink auto& out) {
    const bool is_root = rank == tree.root();
    const rank_t parent = tree.parent(rank);
    const rank_t children = tree.child_count(rank);
    const rank_t planes = landing_planes(children, landing);
    for (block_t b = 0; b != at.blocks; ++b) {
        detail::gather_children(tree, rank, b, acc, first_plane, planes, out);
        const slice result{children == 0 ? input : acc, b, 1};
        if (!is_root)
            out.send(parent, result);
        else if (children == 0)
            out.copy(result, {output, b, 1});
    }
}

} // namespace detail

template <TreeSource S>
struct tree_reduce {
    using serves = goals<goal::reduce>;
    S shape{};
    // How many planes the children land in; 0: one per child, so that all children may send at
    // once.
    std::uint32_t landing = 0;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const auto& tree = bind_tree(shape, at);
        const bool is_root = rank == tree.root();
        detail::reduce_upwards(tree, at, rank, is_root ? output : bough::scratch(0), is_root ? 0 : 1, landing, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = std::conditional_t<text_tells_v<S>, tree_reduce, void>;
    static constexpr bool steady_in_blocks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const auto& tree = bind_tree(shape, at);
        const rank_t children = tree.child_count(rank);
        if (children == 0) return 0;
        return at.blocks * (detail::landing_planes(children, landing) + (rank == tree.root() ? 0 : 1));
    }
    constexpr status check(const dimensions& at) const { return check_tree(shape, at); }
    constexpr bool keeps_rank_order(const dimensions& at) const { return tree_keeps_rank_order(shape, at); }
    constexpr status check_claims(const dimensions& at) const { return bough::check_tree_claims(shape, at); }
    constexpr bracket_class bracket(const dimensions& at) const { return tree_bracket(shape, at); }
    // A child's message may wait where it landed until its turn comes.
    static constexpr bool may_hold = true;
    constexpr label text() const {
        return label("tree_reduce").field(bough::label_of(shape)).field("landing", landing, 0);
    }
    friend constexpr bool operator==(const tree_reduce&, const tree_reduce&) = default;
};
template <class S>
tree_reduce(S) -> tree_reduce<S>;
template <class S>
tree_reduce(S, std::uint32_t) -> tree_reduce<S>;

// A tree source is an algorithm by itself: plan_reduce(fnomial{.degree = 4}, {.size = 16}).
template <TreeSource S>
constexpr plan<goal::reduce, tree_reduce<S>> plan_reduce(const S& source, dimensions at) {
    return {tree_reduce<S>{source}, at};
}

} // namespace bough

#endif
