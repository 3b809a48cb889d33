// SPDX-License-Identifier: BSL-1.0
// Allreduce over two binary trees at once: double_tree_reduce to the root, then
// double_tree_broadcast from it.
//
// Ranks       any, any root (0 unless the plan says otherwise)
// Op          commutative: the trees do not keep rank order
// Rounds      with ports that serve messages in the order of the steps: at most 2 n + 4
//             floor(log2(p - 1)) for n blocks, one more if n is odd
// Traffic     2 (p - 1) n blocks in all; a rank sends and receives each block twice, about; it
//             talks to four ranks at most
// Combines    (p - 1) n blocks in all
// Scratch     on an inner rank of one tree, one block to land in for each child and block of it; at
//             the root one for each block; on other ranks none
// Time        alpha_beta_gamma: twice double_tree_broadcast, and m gamma. Other algorithms need as
//             much or less; this one has few peers
// Determinism as double_tree_reduce; every rank gets the root's bits
// Errors      none of its own
// Source      as double_tree_broadcast
#ifndef BOUGH_ALGORITHM_ALLREDUCE_DOUBLE_TREE_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_DOUBLE_TREE_HPP

#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/reduce/double_tree.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct double_tree_allreduce {
    using serves = goals<goal::allreduce>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1) {
            out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        } else {
            const detail::two_trees trees(at, rank);
            detail::reduce_over_two(trees, rank, output, 0, out);
            detail::broadcast_over_two(trees, output, out);
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return detail::two_tree_natural_blocks(size); }
    using text_tells = double_tree_allreduce;
    static constexpr bool steady_in_blocks = true;
    static constexpr bool steady_in_ranks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return at.size == 1 ? 0 : detail::two_trees_landing(detail::two_trees(at, rank));
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    static constexpr bool may_hold = true; // no block waits for another one
    friend constexpr bool operator==(const double_tree_allreduce&, const double_tree_allreduce&) = default;
};

} // namespace bough

#endif
