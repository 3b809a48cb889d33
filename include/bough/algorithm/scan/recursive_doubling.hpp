// SPDX-License-Identifier: BSL-1.0
// Scan (inclusive) by recursive doubling: in round k a rank sends what it has to the rank 2^k ahead.
//
// Before round k a rank has op over itself and the 2^k - 1 ranks below it, or all of them if they
// are fewer.
//
// Ranks       any; the root does not matter
// Op          any associative op: brackets keep rank order
// Rounds      ceil(log2 p)
// Traffic     the whole vector once a round: p q - (2^q - 1) messages in all, q = ceil(log2 p)
// Combines    as many blocks as a rank receives
// Scratch     one plane, none on rank 0
// Time        alpha_beta_gamma: (alpha + m beta + m gamma) ceil(log2 p) for m bytes
// Determinism a rank's bracket depends on its number alone: same bits every time, and in a larger group
// Errors      none of its own
// Source      Hillis, Steele, "Data Parallel Algorithms", Communications of the ACM 29 (12), 1986
//
// Picture, p = 7 (x+y: op over the ranks x to y):
//             0     1     2     3     4     5     6
//   round 1   0     0+1   1+2   2+3   3+4   4+5   5+6      each sends to the next rank
//   round 2   0     0+1   0+2   0+3   1+4   2+5   3+6      to the next but one
//   round 3   0     0+1   0+2   0+3   0+4   0+5   0+6      to the rank 4 ahead
#ifndef BOUGH_ALGORITHM_SCAN_RECURSIVE_DOUBLING_HPP
#define BOUGH_ALGORITHM_SCAN_RECURSIVE_DOUBLING_HPP

#include <bough/algorithm/detail/scan_algorithm.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct recursive_doubling_scan : detail::scan_algorithm<recursive_doubling_scan> {
    using serves = goals<goal::scan>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice landed{bough::scratch(0), 0, at.blocks};
        const slice result{output, 0, at.blocks};
        slice have{input, 0, at.blocks};
        for (std::uint64_t distance = 1; distance < at.size; distance *= 2) {
            const auto d = static_cast<rank_t>(distance);
            if (d < at.size - rank) out.send(rank + d, have);
            if (rank < d) continue;
            out.receive(rank - d, landed);
            out.combine(landed, have, result);
            have = result;
        }
        if (rank == 0) out.copy(have, result);
    }
    using text_tells = recursive_doubling_scan;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept { return rank == 0 ? 0 : at.blocks; }
    friend constexpr bool operator==(const recursive_doubling_scan&, const recursive_doubling_scan&) = default;
};

} // namespace bough

#endif
