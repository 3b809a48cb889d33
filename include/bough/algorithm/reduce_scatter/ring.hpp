// SPDX-License-Identifier: BSL-1.0
// Reduce_scatter around a ring: a block's partial result visits every rank and ends at its own.
//
// Ranks       any
// Op          commutative: block b is combined in the order b + 1, ..., p - 1, 0, ..., b
// Rounds      p - 1
// Traffic     a rank sends p - 1 blocks, to its neighbour only
// Combines    p - 1 blocks a rank
// Scratch     p - 1 blocks for landing, p - 2 for partial results
// Time        alpha_beta_gamma: (p - 1) alpha + (p - 1) / p n (beta + gamma)
// Determinism every rank's result is a bracket of its own, the same in every run
// Pre         one block a rank; they may differ in length
// Errors      none of its own
// Source      Rabenseifner 2004, section 2 (ring)
//
// Picture, p = 7: what each rank sends to the next one
//   rank        0  1  2  3  4  5  6
//   round 1     6  0  1  2  3  4  5
//   round 2     5  6  0  1  2  3  4
//   ...
//   round 6     1  2  3  4  5  6  0      each but its rank's contribution; then every rank gets its own block
#ifndef BOUGH_ALGORITHM_REDUCE_SCATTER_RING_HPP
#define BOUGH_ALGORITHM_REDUCE_SCATTER_RING_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct ring_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const rank_t from = around.behind(rank, 1);
        buffer have = input;
        rank_t block = from;
        for (rank_t round = 1; round < at.size; ++round) {
            out.send(around.ahead(rank, 1), {have, block, 1});
            block = around.behind(block, 1);
            out.receive(from, {bough::scratch(1), block, 1});
            have = block == rank ? output : bough::scratch(0);
            around.combine(from, bough::scratch(1), rank, input, have, block, 1, out);
        }
        if (at.size == 1) out.copy({input, 0, 1}, {output, 0, 1});
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = ring_reduce_scatter;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        return at.size == 1 ? 0 : 2 * at.size - 3;
    }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool may_hold = true;
    static constexpr bool accumulates_in_plane_0 = true;
    constexpr bracket_class bracket(const dimensions&) const noexcept { return {bracket_family("ring"), 0}; }
    static constexpr bool symmetric = true;
    constexpr label family_text() const { return label("ring"); }
    friend constexpr bool operator==(const ring_reduce_scatter&, const ring_reduce_scatter&) = default;
};

} // namespace bough

#endif
