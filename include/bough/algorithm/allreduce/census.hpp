// SPDX-License-Identifier: BSL-1.0
// Census allreduce: whole vectors, ceil(log2 p) rounds for any number of ranks. It is for exact
// ops, since brackets differ by rank.
//
// A rank keeps F, op over the k ranks behind it on the ring; x is its own vector. The digits of p -
// 1 in binary say what comes, from the highest on. A 0 brings F of the rank k further on, so k
// doubles. A 1 brings x + F of the rank k + 1 further on, so k doubles and grows by one. At k = p -
// 1 the result is x + F.
//
// Ranks       any
// Op          commutative and exact on the element type (integers, min, max, ...): with another,
//             ranks get different bits. The front door refuses it at compile time; inexact_census
//             takes any commutative op
// Rounds      ceil(log2 p): no allreduce has fewer
// Traffic     a rank sends the whole vector once a round: for short vectors
// Combines    one vector a round, and one more for each 1 of p - 1 but the first, and one in the
//             end: at most 2 q m
// Scratch     three planes at most
// Time        alpha_beta_gamma: q (alpha + m beta) + at most 2 q m gamma, q = ceil(log2 p)
// Determinism every rank has a bracket of its own
// Errors      none of its own
// Source      Bar-Noy, Kipnis, Schieber 1993, "An optimal algorithm for computing census functions
//             in message-passing systems"
//
// Picture, p = 7: p - 1 = 110 in binary (x+y: op over the ranks x to y on the ring), rank 0
//   1   x of 1                        F = 1        k = 1
//   1   x + F of 2: 2+3               F = 1+3      k = 3
//   0   F of 3: 4+6                   F = 1+6      k = 6          result 0+6
#ifndef BOUGH_ALGORITHM_ALLREDUCE_CENSUS_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_CENSUS_HPP

#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

// Census for any commutative op. With an inexact op the ranks get results that differ by rounding.
struct inexact_census {
    using serves = goals<goal::allreduce>;
    static constexpr bool symmetric = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice mine{input, 0, at.blocks};
        const slice landed = mine.in(bough::scratch(0));
        const slice behind = mine.in(bough::scratch(1)); // F
        const slice with_mine = mine.in(bough::scratch(2));
        const slice result = mine.in(output);
        if (at.blocks == 0) return;
        rank_t count = 0; // how many ranks are in F
        for (rank_t bit = std::bit_floor(at.size - 1); bit != 0; bit /= 2) {
            const bool grows = ((at.size - 1) & bit) != 0;
            const rank_t apart = count + (grows ? 1 : 0);
            const rank_t from = apart < at.size - rank ? rank + apart : rank - (at.size - apart);
            const rank_t to = rank >= apart ? rank - apart : rank + (at.size - apart);
            if (count == 0) {
                out.send(to, mine);
                out.receive(from, behind);
            } else {
                if (grows) out.combine(mine, behind, with_mine);
                out.send(to, grows ? with_mine : behind);
                out.receive(from, landed);
                out.combine(behind, landed, behind);
            }
            count += apart;
        }
        if (at.size == 1)
            out.copy(mine, result);
        else
            out.combine(mine, behind, result);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    using text_tells = inexact_census;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size == 1; }
    constexpr bool rank_consistent(const dimensions& at) const noexcept { return at.size == 1; }
    friend constexpr bool operator==(const inexact_census&, const inexact_census&) = default;
};

struct census : inexact_census {
    using text_tells = census;
    static constexpr bool needs_exact = true;
    friend constexpr bool operator==(const census&, const census&) = default;
};

} // namespace bough

#endif
