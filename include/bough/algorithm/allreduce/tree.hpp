// SPDX-License-Identifier: BSL-1.0
// Allreduce as reduce to a root, then broadcast from it, over the same tree.
//
// Ranks       any
// Op          as tree_reduce: with the default root 0 and a rank_ordered() shape, any associative op
// Rounds      one block over a binomial tree: 2 ceil(log2 p)
// Traffic     2 (p - 1) messages a block: the fewest an allreduce can have; the choice where ranks
//             exceed cores
// Combines    p - 1 blocks in all
// Scratch     one plane per child, at most `landing` if that is set
// Determinism as tree_reduce; every rank gets the root's bits
// Pre         the tree's root is the plan's root
// Errors      check() names the shape's parameter that is out of range
// Source      Moody et al. 2003, section 6.1; Gupta et al. 2003, section 5.2
#ifndef BOUGH_ALGORITHM_ALLREDUCE_TREE_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_TREE_HPP

#include <bough/algorithm/reduce/tree.hpp>
#include <bough/core/label.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Sends all blocks down the tree, from the root's output into the output of all other ranks.
constexpr void broadcast_downwards(const auto& tree, const dimensions& at, rank_t rank, StepSink auto& out) {
    const bool is_root = rank == tree.root();
    const rank_t parent = tree.parent(rank);
    const rank_t children = tree.child_count(rank);
    for (block_t b = 0; b != at.blocks; ++b) {
        if (!is_root) out.receive(parent, {output, b, 1});
        for (rank_t i = 0; i != children; ++i) out.send(tree.child(rank, i), {output, b, 1});
    }
}

} // namespace detail

template <TreeSource S>
struct tree_allreduce {
    using serves = goals<goal::allreduce, goal::barrier>;
    S shape{};
    std::uint32_t landing = 0; // as in tree_reduce

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const auto& tree = bind_tree(shape, at);
        detail::reduce_upwards(tree, at, rank, output, 0, landing, out);
        detail::broadcast_downwards(tree, at, rank, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = std::conditional_t<text_tells_v<S>, tree_allreduce, void>;
    static constexpr bool steady_in_blocks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        const auto& tree = bind_tree(shape, at);
        return at.blocks * detail::landing_planes(tree.child_count(rank), landing);
    }
    constexpr status check(const dimensions& at) const { return check_tree(shape, at); }
    constexpr bool keeps_rank_order(const dimensions& at) const { return tree_keeps_rank_order(shape, at); }
    constexpr status check_claims(const dimensions& at) const { return bough::check_tree_claims(shape, at); }
    constexpr bracket_class bracket(const dimensions& at) const { return tree_bracket(shape, at); }
    // A child's message may wait where it landed until its turn comes.
    static constexpr bool may_hold = true;
    constexpr label text() const {
        return label("tree_allreduce").field(bough::label_of(shape)).field("landing", landing, 0);
    }
    friend constexpr bool operator==(const tree_allreduce&, const tree_allreduce&) = default;
};
template <class S>
tree_allreduce(S) -> tree_allreduce<S>;
template <class S>
tree_allreduce(S, std::uint32_t) -> tree_allreduce<S>;

// A tree source becomes the algorithm that reduces and broadcasts over its tree.
template <TreeSource S>
constexpr plan<goal::allreduce, tree_allreduce<S>> plan_allreduce(const S& source, dimensions at) {
    return {tree_allreduce<S>{source}, at};
}

} // namespace bough

#endif
