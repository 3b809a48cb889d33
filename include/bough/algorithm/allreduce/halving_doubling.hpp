// SPDX-License-Identifier: BSL-1.0
// Allreduce by recursive halving and doubling: a reduce-scatter that halves vectors and doubles
// distances, and its mirror.
//
// Ranks       any: with p' = 2^k <= p < 2^(k+1) and r = p - p', the first 2r ranks fold in pairs
//             first, each combining half
// Op          any associative op: the distance doubles, so neighbours combine first and brackets
//             keep rank order
// Rounds      2 log2 p' (p = p'), else 2 log2 p' + 3
// Traffic     a rank sends 2 (1 - 1/p') m; of two ranks that fold, the one that stays sends m/2 + m
//             more, and the one that leaves sends m in all
// Combines    (1 - 1/p') m a rank; a rank that folds m/2 more
// Scratch     half a vector; a rank that stays in a fold up to a whole one
// Time        alpha_beta_gamma, p = p': 2 log2 p alpha + (1 - 1/p) (2 m beta + m gamma); else (2
//             log2 p' + 2 + f_alpha) alpha + (3 + (1 + f_beta) / 2) m beta + 3/2 m gamma - (2 m
//             beta + m gamma) / p'
// Determinism the bracket of recursive_doubling: both give the same bits, for every p
// Errors      none of its own
// Source      Rabenseifner 2004, section 2.5 and Fig. 1
//
// Picture, p = 7 (r = 3, p' = 4; x+y: op over the ranks x to y; the vector in parts A to D)
//   fold      0<->1  2<->3  4<->5 halves, then 1->0 3->2 5->4     0: 0+1 of A-D   2: 2+3   4: 4+5   6: 6
//   round 1   0<->2  4<->6   0: 0+3 of A-B   2: 0+3 of C-D   4: 4+6 of A-B   6: 4+6 of C-D
//   round 2   0<->4  2<->6   0: 0+6 of A     2: 0+6 of C     4: 0+6 of B     6: 0+6 of D
//   back      0<->4  2<->6, then 0<->2  4<->6, then 0->1  2->3  4->5
#ifndef BOUGH_ALGORITHM_ALLREDUCE_HALVING_DOUBLING_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_HALVING_DOUBLING_HPP

#include <bough/algorithm/allreduce/per_level.hpp>
#include <bough/algorithm/levels.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

struct halving_doubling_allreduce {
    using serves = goals<goal::allreduce>;
    static constexpr bool may_hold = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        per_level_allreduce{fold_levels(at.size)}.emit(at, rank, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return std::bit_floor(size); }
    using text_tells = halving_doubling_allreduce;
    constexpr bool symmetric_at(const dimensions& at) const noexcept { return std::has_single_bit(at.size); }
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return per_level_allreduce{fold_levels(at.size)}.scratch(at, rank);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions& at) const { return level_bracket(fold_levels(at.size)); }
    friend constexpr bool operator==(const halving_doubling_allreduce&, const halving_doubling_allreduce&) = default;
};

} // namespace bough

#endif
