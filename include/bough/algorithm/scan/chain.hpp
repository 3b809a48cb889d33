// SPDX-License-Identifier: BSL-1.0
// Scan (inclusive) along the chain of ranks: a rank combines what comes from the rank below with its
// own vector, and sends that to the rank above.
//
// No plan has fewer messages, and no rank has more than two of them. So in a loop of calls, in which a
// rank starts the next call while the ranks above are still in this one, nothing takes less of a
// rank's time. A single call takes p - 1 messages one after the other. In blocks, a long vector is
// under way on all ranks at once.
//
// Ranks       any; the root does not matter
// Op          any associative op: brackets keep rank order
// Rounds      p - 1 for one block; p - 2 + n for n blocks
// Traffic     the whole vector from each rank to the next: (p - 1) n messages
// Combines    each block once on each rank but rank 0
// Scratch     one plane, none on rank 0
// Time        alpha_beta_gamma, n blocks of m bytes in all, t = alpha + (m / n) beta, g = (m / n) gamma:
//             (p - 1) (t + g) for the first block; t + g for each further one, or the larger of t and g
//             if messages land early
// Determinism a rank's bracket depends on its number alone: same bits every time, in any number of
//             blocks, and in a larger group
// Errors      none of its own
// Source      folklore; in blocks: Sanders, Traeff, "Parallel Prefix (Scan) Algorithms for MPI",
//             EuroPVM/MPI 2006
//
// Picture, p = 7 (x+y: op over the ranks x to y):
//             0     1     2     3     4     5     6
//   round 1   0     0+1
//   round 2               0+2
//   round 3                     0+3                          and so on to rank 6, in round 6
#ifndef BOUGH_ALGORITHM_SCAN_CHAIN_HPP
#define BOUGH_ALGORITHM_SCAN_CHAIN_HPP

#include <bough/algorithm/detail/scan_algorithm.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct chain_scan : detail::scan_algorithm<chain_scan> {
    using serves = goals<goal::scan>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const bool is_last = rank + 1 == at.size;
        for (block_t b = 0; b != at.blocks; ++b) {
            const slice own{input, b, 1}, landed{bough::scratch(0), b, 1}, result{output, b, 1};
            if (rank != 0) {
                out.receive(rank - 1, landed);
                out.combine(landed, own, result);
            }
            if (!is_last) out.send(rank + 1, rank == 0 ? own : result);
        }
        if (rank == 0) out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
    }
    using text_tells = chain_scan;
    static constexpr bool steady_in_blocks = true;
    static constexpr bool may_hold = true; // no block waits for another one
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept { return rank == 0 ? 0 : at.blocks; }
    friend constexpr bool operator==(const chain_scan&, const chain_scan&) = default;
};

} // namespace bough

#endif
