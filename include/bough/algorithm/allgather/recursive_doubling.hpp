// SPDX-License-Identifier: BSL-1.0
// Allgather by recursive doubling: in each round a rank exchanges all blocks that it has with a
// partner twice as far away.
//
// Ranks       any: with p' = 2^k <= p < 2^(k+1) and r = p - p', of the first 2r ranks every second
//             one gives its block to its neighbour first, and gets all the others at last
// Rounds      log2 p for powers of two, else log2 p' + 2 in step (a few more, since ranks that do
//             not fold run ahead)
// Traffic     a rank sends (1 - 1/p) m for powers of two. A rank with a neighbour to serve sends at
//             most 12/5 m: m to the neighbour, and blocks of pairs in the rounds (nearly that at p
//             = 5/4 p')
// Scratch     none
// Time        alpha_beta_gamma, p = p': log2 p alpha + (1 - 1/p) m beta; else 2 alpha_uni + m
//             beta_uni more
// Pre         as many blocks as ranks; they may differ in length. Messages have one part, or two if
//             they go to a rank that left in the fold
// Errors      another number of blocks
// Source      Rabenseifner 2004, section 2.2; Thakur, Gropp 2003, EuroPVM/MPI
//
// Picture, p = 7 (r = 3; x-y: the blocks x to y)
//   fold      1->0  3->2  5->4           0: 0-1    2: 2-3    4: 4-5    6: 6
//   round 1   0<->2  4<->6               0-3       0-3       4-6       4-6
//   round 2   0<->4  2<->6               0-6 on all four
//   unfold    0->1: 0 2-6     2->3: 0-2 4-6     4->5: 0-4 6
#ifndef BOUGH_ALGORITHM_ALLGATHER_RECURSIVE_DOUBLING_HPP
#define BOUGH_ALGORITHM_ALLGATHER_RECURSIVE_DOUBLING_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/paired_fold.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct recursive_doubling_allgather {
    using serves = goals<goal::allgather>;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::paired_fold fold(at.size);
        const slice mine{output, rank, 1};
        out.copy(mine.in(input), mine);
        if (fold.leaves(rank)) {
            out.send(rank - 1, mine);
            out.receive_part(rank - 1, {output, 0, rank});
            out.receive(rank - 1, {output, rank + 1, at.size - rank - 1});
            return;
        }
        if (fold.folds(rank)) out.receive(rank + 1, {output, rank + 1, 1});
        const rank_t member = fold.folded(rank);
        for (rank_t distance = 1; distance != fold.group; distance *= 2) {
            const rank_t peer = fold.unfolded(member ^ distance);
            // The blocks of the `distance` members that m has gathered.
            const auto blocks_of = [&](rank_t m) {
                const auto first_of = [&](rank_t i) { return i < fold.extra ? 2 * i : i + fold.extra; };
                const rank_t first = m & ~(distance - 1);
                return slice{output, first_of(first), first_of(first + distance) - first_of(first)};
            };
            out.send(peer, blocks_of(member));
            out.receive(peer, blocks_of(member ^ distance));
        }
        if (fold.folds(rank)) {
            out.send_part(rank + 1, {output, 0, rank + 1});
            out.send(rank + 1, {output, rank + 2, at.size - rank - 2});
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = recursive_doubling_allgather;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    friend constexpr bool operator==(const recursive_doubling_allgather&,
                                     const recursive_doubling_allgather&) = default;
};

} // namespace bough

#endif
