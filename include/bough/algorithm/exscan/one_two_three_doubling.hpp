// SPDX-License-Identifier: BSL-1.0
// Exscan with the skips 1, 2, 3, 6, 12, ...: after two rounds a rank has op over three, which then doubles.
//
// Ranks       any; the root does not matter
// Op          any associative op: brackets keep rank order
// Rounds      ceil(log2(p - 1) + log2(4/3)) for p >= 3: never more than the conventional exscan,
//             and one less if p - 1 is in the lower half between two powers of two
// Traffic     the whole vector once a round
// Combines    as many blocks as a rank receives, less one vector; one vector more on ranks that
//             send in the second round
// Scratch     two planes; one on rank 1, none on rank 0; for two ranks none
// Time        alpha_beta_gamma, m bytes: (alpha + m beta + m gamma) rounds, less m gamma for the
//             first round; the combine before the second send is on the way of the ranks ahead
// Determinism a rank's bracket depends on p and on its number alone: same bits every time
// Post        rank 0's output is not written
// Errors      none of its own
// Source      Traeff 2025, arXiv 2507.04785
//
// Picture, p = 7 (x+y: op over the ranks x to y):
//             0     1     2     3     4     5     6
//   round 1   -     0     1     2     3     4     5        each sends its own to the next rank
//   round 2   -     0     0+1   0+2   1+3   2+4   3+5      each sends what it has with its own, to the next but one
//   round 3   -     0     0+1   0+2   0+3   0+4   0+5      each but rank 0 sends what it has, to the rank 3 ahead
#ifndef BOUGH_ALGORITHM_EXSCAN_ONE_TWO_THREE_DOUBLING_HPP
#define BOUGH_ALGORITHM_EXSCAN_ONE_TWO_THREE_DOUBLING_HPP

#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct one_two_three_doubling {
    using serves = goals<goal::exscan>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice own{input, 0, at.blocks};
        const slice result{output, 0, at.blocks};
        const bool sends_second = at.size - rank > 2;
        if (rank + 1 != at.size) out.send(rank + 1, own);
        if (rank == 0) {
            if (sends_second) out.send(2, own);
            return;
        }
        slice have{bough::scratch(0), 0, at.blocks};
        const slice landed{bough::scratch(1), 0, at.blocks};
        if (at.size == 2) have = result; // no further message waits for this
        out.receive(rank - 1, have);
        if (sends_second) {
            out.combine(have, own, result);
            out.send(rank + 2, result);
        }
        if (rank >= 2) {
            out.receive(rank - 2, landed);
            out.combine(landed, have, result);
            have = result;
        }
        detail::double_exscan(at, rank, 3, have, landed, out);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = one_two_three_doubling;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return detail::doubling_exscan_scratch(at, rank);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    // Every rank has another result.
    constexpr bool rank_consistent(const dimensions&) const noexcept { return false; }
    friend constexpr bool operator==(const one_two_three_doubling&, const one_two_three_doubling&) = default;
};

} // namespace bough

#endif
