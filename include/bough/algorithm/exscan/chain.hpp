// SPDX-License-Identifier: BSL-1.0
// Exscan along the chain of ranks: a rank takes op over the ranks below from its neighbour, and sends
// that combined with its own vector to the rank above.
//
// As chain_scan: the fewest messages in all and for each rank, so the least time in a loop of calls,
// and p - 1 of them one after the other in a single call.
//
// Ranks       any; the root does not matter
// Op          any associative op: brackets keep rank order
// Rounds      p - 1 for one block; p - 2 + n for n blocks
// Traffic     the whole vector from each rank to the next: (p - 1) n messages
// Combines    each block once on each rank but the first and the last
// Scratch     two planes; none on rank 0 and on the last rank
// Time        alpha_beta_gamma, n blocks of m bytes in all, t = alpha + (m / n) beta, g = (m / n) gamma:
//             (p - 1) t + (p - 2) g for the first block; t + g for each further one (t for p = 2), or the
//             larger of t and g if messages land early
// Determinism a rank's bracket depends on its number alone: same bits every time, in any number of
//             blocks, and in a larger group
// Post        rank 0's output is not written
// Errors      none of its own
// Source      as chain_scan
//
// Picture, p = 7 (x+y: op over the ranks x to y; what a rank has in the end):
//             0     1     2     3     4     5     6
//   round 1   -     0
//   round 2               0+1
//   round 3                     0+2                          and so on to rank 6, in round 6
#ifndef BOUGH_ALGORITHM_EXSCAN_CHAIN_HPP
#define BOUGH_ALGORITHM_EXSCAN_CHAIN_HPP

#include <bough/algorithm/detail/scan_algorithm.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct chain_exscan : detail::scan_algorithm<chain_exscan> {
    using serves = goals<goal::exscan>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const bool is_last = rank + 1 == at.size;
        // In place the output is still the input, which this rank needs for the next one; the last rank
        // does not.
        const buffer landing = is_last ? output : bough::scratch(0);
        for (block_t b = 0; b != at.blocks; ++b) {
            const slice own{input, b, 1}, landed{landing, b, 1}, next{bough::scratch(1), b, 1};
            if (rank != 0) out.receive(rank - 1, landed);
            if (is_last) continue;
            if (rank != 0) out.combine(landed, own, next);
            out.send(rank + 1, rank == 0 ? own : next);
        }
        if (rank != 0 && !is_last) out.copy({landing, 0, at.blocks}, {output, 0, at.blocks});
    }
    using text_tells = chain_exscan;
    static constexpr bool steady_in_blocks = true;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return rank == 0 || rank + 1 == at.size ? 0 : 2 * at.blocks;
    }
    friend constexpr bool operator==(const chain_exscan&, const chain_exscan&) = default;
};

} // namespace bough

#endif
