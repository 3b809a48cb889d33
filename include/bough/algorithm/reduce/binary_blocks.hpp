// SPDX-License-Identifier: BSL-1.0
// Reduce by binary blocks: the first half of the allreduce by binary blocks, then a binary tree of
// the segments to the root.
//
// Ranks       any, any root: one outside of the largest block gets rank 0's segment, and plays its
//             role in the gather
// Op          any associative op: brackets keep rank order
// Rounds      2 log2 p if p is a power of two; else what verify says
// Traffic     a rank sends less than m in the halving and the way up, at most m/2 in the gather
// Combines    as the allreduce's
// Scratch     half a vector to land in; on ranks other than the root as much again to accumulate
//             in, and more in the gather
// Time        alpha_beta_gamma: no closed formula; for powers of two that of halving_gather
// Determinism the bracket of the allreduce by binary blocks, whatever the root
// Errors      none of its own
// Source      Rabenseifner 2004, section 2.6 and Fig. 2
//
// Picture, p = 7, root 5: blocks 0-3, 4-5 and 6; the vector in parts A to D
//   halving and upwards as in the allreduce: 0: A  1: C  2: B  3: D
//   gather    0->5 A; 5 is now 0: 2->5 B  3->1 D; then 1->5 CD
#ifndef BOUGH_ALGORITHM_REDUCE_BINARY_BLOCKS_HPP
#define BOUGH_ALGORITHM_REDUCE_BINARY_BLOCKS_HPP

#include <bough/algorithm/detail/binary_blocks.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

struct binary_blocks_reduce {
    using serves = goals<goal::reduce>;
    static constexpr bool may_hold = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::binary_block_walk walk(at.size, rank, at.blocks, rank == at.root ? output : bough::scratch(1), out);
        walk.reduce_scatter();
        walk.gather(at.root, at.size);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return std::bit_floor(size); }
    using text_tells = binary_blocks_reduce;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions&) const noexcept { return {bracket_family("binary_blocks"), 0}; }
    friend constexpr bool operator==(const binary_blocks_reduce&, const binary_blocks_reduce&) = default;
};

} // namespace bough

#endif
