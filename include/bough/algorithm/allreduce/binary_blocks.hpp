// SPDX-License-Identifier: BSL-1.0
// Allreduce by binary blocks: the ranks are a sum of powers of two, and each power halves and
// doubles by itself.
//
// The paper gives no formula, and its text leaves three things open. They are done like this here:
//   - Blocks stand in rank order, the largest first.
//   - A block that has ended its halving, and has added what the next smaller block sent, sends
//     each rank of the next larger block that rank's last segment.
//   - On the way back the next larger block sends when its segments are half as long as those of
//     the smaller block, which therefore gets pairs of messages.
//
// Ranks       any
// Op          any associative op: brackets keep rank order
// Rounds      2 log2 p if p is a power of two; else what verify finds: at most 2 q + 2^d + b, with
//             q = ceil(log2 p), b blocks and 2^d the largest ratio of two successive blocks
// Traffic     a rank of the largest block sends less than 2 m and, to smaller blocks, its share;
//             one of the smallest block of 2^e ranks sends (2 - 1/2^e) m or less
// Combines    less than m a rank and m/2^e for what the block of 2^e gets from the next smaller one
// Scratch     half a vector; in a block of one rank with a smaller one: none
// Time        alpha_beta_gamma: no closed formula; for powers of two that of halving_doubling
// Determinism one bracket for all elements: largest + (next + (... + smallest)), each block a balanced tree
// Errors      none of its own
// Source      Rabenseifner 2004, section 2.6 and Fig. 2
//
// Picture, p = 7: blocks 0-3, 4-5 and 6; the vector in parts A to D (x+y: op over the ranks x to y)
//   halving   0: A  1: C  2: B  3: D of 0+3    4: AB  5: CD of 4+5     6: A-D
//   upwards   6->4 AB  6->5 CD; then 4->0 A  4->2 B  5->1 C  5->3 D    0 to 3 have their parts of 0+6
//   back      0->4 A  2->4 B  1->5 C  3->5 D; 0<->2  1<->3;            then 4->6 AB  5->6 CD; 0<->1  2<->3  4<->5
#ifndef BOUGH_ALGORITHM_ALLREDUCE_BINARY_BLOCKS_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_BINARY_BLOCKS_HPP

#include <bough/algorithm/detail/binary_blocks.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

struct binary_blocks_allreduce {
    using serves = goals<goal::allreduce>;
    static constexpr bool may_hold = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        detail::binary_block_walk walk(at.size, rank, at.blocks, output, out);
        walk.reduce_scatter();
        walk.allgather();
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return std::bit_floor(size); }
    using text_tells = binary_blocks_allreduce;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions&) const noexcept { return {bracket_family("binary_blocks"), 0}; }
    friend constexpr bool operator==(const binary_blocks_allreduce&, const binary_blocks_allreduce&) = default;
};

} // namespace bough

#endif
