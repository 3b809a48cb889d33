// SPDX-License-Identifier: BSL-1.0
// Reduce by recursive halving and a gather: the first half of halving_doubling, then a binary tree
// of the parts to the root.
//
// Ranks       any, any root: a root that would leave in the fold changes roles with its partner, at no cost
// Op          any associative op: brackets keep rank order
// Rounds      2 log2 p' for p = p' = 2^k, else 2 log2 p' + 2
// Traffic     a rank sends (1 - 1/p') m in the halving and at most m/2 in the gather; in the fold
//             it sends m/2, or m if it leaves
// Combines    (1 - 1/p') m a rank; a rank that folds m/2 more
// Scratch     half a vector, or up to a whole one on a rank that stays in a fold; on ranks other
//             than the root up to a whole one more to accumulate in
// Time        alpha_beta_gamma, p = p': log2 p (1 + f_alpha) alpha + (1 - 1/p) ((1 + f_beta) m beta
//             + m gamma); else (log2 p' + 1) (1 + f_alpha) alpha + (1 + (1 + f_beta) / 2 + f_beta)
//             m beta + 3/2 m gamma - ((1 + f_beta) m beta + m gamma) / p'
// Determinism the bracket of recursive_doubling and halving_doubling, whatever the root
// Errors      none of its own
// Source      Rabenseifner 2004, section 2.5
//
// Picture, p = 7, root 3 (it would leave in the fold: 2 leaves in its place; x+y: op over the ranks x to y)
//   fold      0<->1  2<->3  4<->5 halves, then 1->0 2->3 5->4     0: 0+1    3: 2+3    4: 4+5    6: 6
//   halving   0<->3  4<->6, then 0<->4  3<->6                     0: A      3: C      4: B      6: D
//   gather    4->0  6->3, then 0->3
#ifndef BOUGH_ALGORITHM_REDUCE_HALVING_GATHER_HPP
#define BOUGH_ALGORITHM_REDUCE_HALVING_GATHER_HPP

#include <bough/algorithm/levels.hpp>
#include <bough/algorithm/reduce/per_level.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

struct halving_gather {
    using serves = goals<goal::reduce>;
    static constexpr bool may_hold = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        per_level_reduce{fold_levels(at.size)}.emit(at, rank, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return std::bit_floor(size); }
    using text_tells = halving_gather;
    static constexpr bool steady_in_ranks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return per_level_reduce{fold_levels(at.size)}.scratch(at, rank);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions& at) const { return level_bracket(fold_levels(at.size)); }
    friend constexpr bool operator==(const halving_gather&, const halving_gather&) = default;
};

} // namespace bough

#endif
