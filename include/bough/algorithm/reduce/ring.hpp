// SPDX-License-Identifier: BSL-1.0
// Reduce by a ring with increasing strides: every rank combines its own part of the vector, then
// sends it to the root.
//
// In step i a rank sends rank + i the part of that rank, and receives its own part from rank - i.
// What comes from a lower rank is put in front of what the rank has. What comes from a higher rank,
// around the ring's end, is put in front of an accumulator of its own, which comes last. So the
// order of ranks is kept, at no cost.
//
// Ranks       any, any root
// Op          any associative op: brackets keep rank order
// Rounds      2 (p - 1)
// Traffic     a rank sends (1 - 1/p) m, and its part to the root
// Combines    (1 - 1/p) m a rank
// Scratch     at most three parts of m/p
// Time        alpha_beta_gamma: (p - 1) (alpha + alpha_uni) + (1 - 1/p) (m (beta + beta_uni) + m gamma)
// Determinism brackets differ from part to part, not from run to run or root to root
// Errors      none of its own
// Source      Rabenseifner 2004, sections 2.2 and 2.7 (which combine as messages come, and so need
//             a commutative op)
//
// Picture, p = 7, rank 2's part C (xC: of rank x)
//   steps 1-6   from 1: 1C+2C    0: 0C+(1C+2C)    6: 6C    5: 5C+6C    4: 4C+(5C+6C)    3: 3C+(4C+(5C+6C))
//   then        (0C+(1C+2C)) + (3C+(4C+(5C+6C))), and C goes to the root
#ifndef BOUGH_ALGORITHM_REDUCE_RING_HPP
#define BOUGH_ALGORITHM_REDUCE_RING_HPP

#include <bough/algorithm/detail/levels.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct ring_reduce {
    using serves = goals<goal::reduce>;
    static constexpr bool may_hold = true;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const auto part = [&](rank_t r, buffer where) { return detail::part_of({where, 0, at.blocks}, r, at.size); };
        const buffer landing = bough::scratch(0);
        const buffer above = bough::scratch(1); // accumulates the ranks above this one
        const buffer acc = rank == at.root ? output : bough::scratch(2);
        const slice mine = part(rank, acc);
        buffer have = input;
        for (rank_t i = 1; i < at.size; ++i) {
            const rank_t to = i < at.size - rank ? rank + i : rank - (at.size - i);
            if (const slice theirs = part(to, input); theirs.count != 0) out.send(to, theirs);
            if (mine.count == 0) continue;
            const rank_t from = i <= rank ? rank - i : rank + (at.size - i);
            if (from == at.size - 1) {
                out.receive(from, mine.in(above));
                continue;
            }
            out.receive(from, mine.in(landing));
            if (from < rank) {
                out.combine(mine.in(landing), mine.in(have), mine);
                have = acc;
            } else {
                out.combine(mine.in(landing), mine.in(above), mine.in(above));
            }
        }
        if (mine.count != 0) {
            if (rank != at.size - 1)
                out.combine(mine.in(have), mine.in(above), mine);
            else if (have == input)
                out.copy(mine.in(input), mine); // one rank
            if (rank != at.root) out.send(at.root, mine);
        }
        if (rank == at.root)
            for (rank_t i = 1; i < at.size; ++i) {
                const rank_t from = i <= rank ? rank - i : rank + (at.size - i);
                if (const slice theirs = part(from, output); theirs.count != 0) out.receive(from, theirs);
            }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = ring_reduce;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    friend constexpr bool operator==(const ring_reduce&, const ring_reduce&) = default;
};

} // namespace bough

#endif
