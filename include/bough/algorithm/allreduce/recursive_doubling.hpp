// SPDX-License-Identifier: BSL-1.0
// Allreduce by recursive doubling: in round k, ranks at distance 2^k exchange and combine whole vectors.
//
// Ranks       any: with 2^k < p < 2^(k+1) and r = p - 2^k, the first 2r ranks fold in pairs first
// Op          any associative op: brackets keep rank order
// Rounds      log2 p if p is a power of two, else floor(log2 p) + 2
// Traffic     a rank sends the whole vector once a round: for short vectors
// Combines    as many blocks a rank as it receives in the exchange and the fold
// Scratch     one plane
// Time        alpha_beta_gamma: (alpha + n beta + n gamma) log2 p for powers of two
// Determinism every rank computes the same bracket: same bits on every rank
// Errors      none of its own
// Source      Rabenseifner 2004, section 2.3 (the fold: section 2.4's renumbering, which keeps
//             neighbours together)
//
// Picture, p = 7 (r = 3; x+y: op over the ranks x to y):
//   fold      1->0  3->2  5->4           0+1       2+3       4+5       6
//   round 1   0<->2  4<->6               0+3       0+3       4+6       4+6
//   round 2   0<->4  2<->6               0+6 on all four
//   unfold    0->1  2->3  4->5
#ifndef BOUGH_ALGORITHM_ALLREDUCE_RECURSIVE_DOUBLING_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_RECURSIVE_DOUBLING_HPP

#include <bough/algorithm/allgather/recursive_doubling.hpp>
#include <bough/algorithm/detail/paired_fold.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/algorithm/levels.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

struct recursive_doubling {
    using serves = goals<goal::allreduce, goal::barrier>;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::paired_fold fold(at.size);
        const slice mine{input, 0, at.blocks};
        const slice landed{bough::scratch(0), 0, at.blocks};
        const slice result{output, 0, at.blocks};
        if (fold.leaves(rank)) {
            out.send(rank - 1, mine);
            out.receive(rank - 1, result);
            return;
        }
        slice have = mine;
        if (fold.folds(rank)) {
            out.receive(rank + 1, landed);
            out.combine(have, landed, result);
            have = result;
        }
        const rank_t member = fold.folded(rank);
        for (rank_t distance = 1; distance != fold.group; distance *= 2) {
            const rank_t peer = fold.unfolded(member ^ distance);
            out.send(peer, have);
            out.receive(peer, landed);
            if (peer < rank)
                out.combine(landed, have, result);
            else
                out.combine(have, landed, result);
            have = result;
        }
        if (fold.folds(rank)) out.send(rank + 1, result);
        if (at.size == 1) out.copy(mine, result);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = recursive_doubling;
    constexpr bool symmetric_at(const dimensions& at) const noexcept { return std::has_single_bit(at.size); }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return at.size == 1 || detail::paired_fold(at.size).leaves(rank) ? 0 : at.blocks;
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions& at) const { return level_bracket(fold_levels(at.size)); }
    // The algorithms of the same name for other goals.
    constexpr recursive_doubling_allgather algorithm_for(goal::allgather) const noexcept { return {}; }
    constexpr recursive_doubling_scan algorithm_for(goal::scan) const noexcept { return {}; }
    constexpr recursive_doubling_exscan algorithm_for(goal::exscan) const noexcept { return {}; }
    friend constexpr bool operator==(const recursive_doubling&, const recursive_doubling&) = default;
};

} // namespace bough

#endif
