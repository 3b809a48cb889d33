// SPDX-License-Identifier: BSL-1.0
// Exscan in ceil(log2 p) rounds: ranks first send what they have with their own vector, and later without it.
//
// A rank that has op over the L ranks below it may send that with its own vector, which is op over
// L + 1 ranks, or without it. The first kind of round takes L to 2 L + 1 and costs a combine more, the
// second takes L to 2 L. As few rounds of the first kind as possible come first.
//
// Ranks       any; the root does not matter
// Op          any associative op: brackets keep rank order
// Rounds      q = ceil(log2 p), as few as there can be. k of them send with the sender's own vector; k
//             is the smallest number with 2^q - 2^(q - k) >= p - 1: 1 if p - 1 is a power of two, 2 up
//             to 3/4 2^q, q only if p = 2^q
// Traffic     the whole vector once a round
// Combines    as many blocks as a rank receives, less one vector (rank 0: none); up to k - 1 vectors more for
//             what it sends
// Scratch     two planes; one on rank 1, none on rank 0; for two ranks none
// Time        alpha_beta_gamma, m bytes: q (alpha + m beta) + (q + k - 2) m gamma, less m gamma if p is a
//             power of two from 8 on. A rank first combines what it sends next, and the rest while that
//             travels: if messages land early and m gamma <= alpha + m beta, at most q (alpha + m beta +
//             m gamma). The conventional exscan takes a round more for k > 1, and q m gamma
// Determinism a rank's bracket depends on p and on its number alone: same bits every time
// Post        rank 0's output is not written
// Errors      none of its own
// Source      Traeff, "Two Efficient Message-passing Exclusive Scan Algorithms", arXiv 2604.25667, the
//             first of them; k = 2 alone: Traeff 2025, arXiv 2507.04785
//
// Picture, p = 7 (x+y: op over the ranks x to y): k = 2
//             0     1     2     3     4     5     6
//   round 1   -     0     1     2     3     4     5        each sends its own to the next rank
//   round 2   -     0     0+1   0+2   1+3   2+4   3+5      what it has with its own, to the next but one
//   round 3   -     0     0+1   0+2   0+3   0+4   0+5      what it has, to the rank 3 ahead
//
// p = 8: k = 3
//             0     1     2     3     4     5     6     7
//   round 1   -     0     1     2     3     4     5     6        each sends its own to the next rank
//   round 2   -     0     0+1   0+2   1+3   2+4   3+5   4+6      what it has with its own, to the next but one
//   round 3   -     0     0+1   0+2   0+3   0+4   0+5   0+6      what it has with its own, to the rank 4 ahead
#ifndef BOUGH_ALGORITHM_EXSCAN_INCLUSIVE_THEN_EXCLUSIVE_HPP
#define BOUGH_ALGORITHM_EXSCAN_INCLUSIVE_THEN_EXCLUSIVE_HPP

#include <bough/algorithm/detail/scan_algorithm.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct inclusive_then_exclusive : detail::scan_algorithm<inclusive_then_exclusive> {
    using serves = goals<goal::exscan>;

    // k: how many rounds send with the sender's own vector. Pre: size != 0.
    static constexpr int inclusive_rounds(rank_t size) noexcept {
        const int rounds = static_cast<int>(std::bit_width(size - 1));
        const std::uint64_t spare = (std::uint64_t{1} << rounds) - (size - 1);
        return rounds + 1 - static_cast<int>(std::bit_width(spare));
    }

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice result{output, 0, at.blocks};
        const slice landed{bough::scratch(1), 0, at.blocks};
        slice have{bough::scratch(0), 0, at.blocks}; // op over ranks below
        slice with_own{input, 0, at.blocks};         // the same with this rank's own vector
        if (at.size == 2) have = result;             // no further message waits for this
        const std::uint64_t end = std::uint64_t{1} << inclusive_rounds(at.size);
        bool behind = false; // has `landed` still to go into `have`?
        for (std::uint64_t skip = 1; skip != end; skip *= 2) {
            const auto d = static_cast<rank_t>(skip);
            if (d < at.size - rank) out.send(rank + d, with_own);
            if (behind) out.combine(landed, have, have);
            behind = false;
            if (rank < d) continue;
            const slice got = d == 1 ? have : landed;
            out.receive(rank - d, got);
            if (2 * skip != end && 2 * skip < at.size - rank) { // goes on sending with its own
                out.combine(got, with_own, result);
                with_own = result;
                behind = d != 1;
            } else if (d != 1) {
                out.combine(landed, have, result);
                have = result;
            }
        }
        if (rank != 0) detail::double_exscan(at, rank, end - 1, have, landed, out);
    }
    using text_tells = inclusive_then_exclusive;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return detail::doubling_exscan_scratch(at, rank);
    }
    friend constexpr bool operator==(const inclusive_then_exclusive&, const inclusive_then_exclusive&) = default;
};

} // namespace bough

#endif
