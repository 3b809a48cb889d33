// SPDX-License-Identifier: BSL-1.0
// Allgather around a ring: every rank passes on the block that it got last.
//
// Ranks       any
// Op          none
// Rounds      p - 1
// Traffic     a rank sends p - 1 blocks, to its neighbour only
// Combines    none
// Scratch     none
// Time        alpha_beta_gamma: (p - 1) alpha + (p - 1) / p n beta
// Determinism blocks are only moved
// Pre         one block a rank; they may differ in length
// Errors      none of its own
// Source      Rabenseifner 2004, section 2 (ring); Chan, Heimlich, Purkayastha, van de Geijn 2007 (bucket)
//
// Picture, p = 7: what each rank sends to the next one
//   rank        0  1  2  3  4  5  6
//   round 1     0  1  2  3  4  5  6
//   round 2     6  0  1  2  3  4  5
//   ...
//   round 6     2  3  4  5  6  0  1
#ifndef BOUGH_ALGORITHM_ALLGATHER_RING_HPP
#define BOUGH_ALGORITHM_ALLGATHER_RING_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct ring_allgather {
    using serves = goals<goal::allgather>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        out.copy({input, rank, 1}, {output, rank, 1});
        rank_t have = rank;
        for (rank_t round = 1; round < at.size; ++round) {
            out.send(around.ahead(rank, 1), {output, have, 1});
            have = around.behind(have, 1);
            out.receive(around.behind(rank, 1), {output, have, 1});
        }
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = ring_allgather;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    static constexpr bool symmetric = true;
    constexpr label family_text() const { return label("ring"); }
    friend constexpr bool operator==(const ring_allgather&, const ring_allgather&) = default;
};

} // namespace bough

#endif
