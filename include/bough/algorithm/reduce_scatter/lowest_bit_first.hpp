// SPDX-License-Identifier: BSL-1.0
// Reduce_scatter up binomial trees, near distances first: optimal for any number of ranks, and most
// data stays near.
//
// This is lowest_bit_first_allgather backwards. In round k rank r sends rank r - 2^k the partial
// results of all blocks whose ranks are an odd multiple of 2^k before it. Half of all data goes
// over distance 1, a quarter over distance 2. A fifth of what the circulant reduce_scatter sends
// crosses the borders of groups of neighbours (see schedule/traffic.hpp).
//
// Ranks       any
// Op          commutative: a block's partial results are of neighbours on the circle, which may pass rank 0
// Rounds      q = ceil(log2 p): optimal; with a limit of 2^a, a < q: a + 2^(q-a) - 1, and p - 1 if a = 0
// Traffic     a rank sends p - 1 blocks: optimal
// Combines    p - 1 blocks a rank: optimal
// Scratch     2 floor(p / 2) - 1 blocks: half for landing, half for partial results; a message has
//             a part for each block
// Time        alpha_beta_gamma: q alpha + (p - 1) / p n (beta + gamma)
// Determinism every rank's result is a bracket of its own, the same in every run
// Pre         one block a rank; they may differ in length
// Errors      none of its own
// Source      the reversal of Loch, Koslovski 2021, "Sparbit: a new logarithmic-cost and data
//             locality-aware MPI Allgather algorithm"; the limit: Jeaugey 2025, "PAT: a new
//             algorithm for all-gather and reduce-scatter operations at scale"
//
// Picture, p = 7, rank 0 (blocks; those to send are partial results of more and more ranks):
//   round 1   sends 6 4 2 to 6       gets 0 5 3 from 1       has 0 5 3 of ranks 0-1, 1 of rank 0
//   round 2   sends 5 1 to 5         gets 0 3 from 2         has 0 3 of ranks 0-3
//   round 3   sends 3 to 3           gets 0 from 4           has 0 of all
#ifndef BOUGH_ALGORITHM_REDUCE_SCATTER_LOWEST_BIT_FIRST_HPP
#define BOUGH_ALGORITHM_REDUCE_SCATTER_LOWEST_BIT_FIRST_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/algorithm/detail/lowest_bit_tree.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct lowest_bit_first_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;
    // The most blocks in a message, rounded down to a power of two; 0: no limit.
    block_t aggregation_limit = 0;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const detail::lowest_bit_tree tree(at.size, aggregation_limit);
        const buffer partial = bough::scratch(0);
        const buffer landed = bough::scratch(1);
        tree.upwards([&](rank_t distance, const auto& offsets) {
            const rank_t to = around.behind(rank, distance);
            const rank_t from = around.ahead(rank, distance);
            offsets.for_each([&](rank_t o, bool more) {
                const slice part{tree.has_children(o) ? partial : input, around.behind(rank, o), 1};
                more ? out.send_part(to, part) : out.send(to, part);
            });
            offsets.for_each([&](rank_t o, bool more) {
                const slice part{landed, around.behind(rank, o - distance), 1};
                more ? out.receive_part(from, part) : out.receive(from, part);
            });
            offsets.for_each([&](rank_t o, bool) {
                const rank_t parent = o - distance;
                const buffer result = parent == 0 ? output : partial;
                const buffer have = tree.comes_first(parent, distance) ? input : result;
                around.combine(from, landed, rank, have, result, around.behind(rank, parent), 1, out);
            });
        });
        if (at.size == 1) out.copy({input, 0, 1}, {output, 0, 1});
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = lowest_bit_first_reduce_scatter;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        return at.size == 1 ? 0 : at.size / 2 * 2 - 1;
    }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool may_hold = true;
    static constexpr bool accumulates_in_plane_0 = true;
    constexpr bracket_class bracket(const dimensions& at) const noexcept {
        return {bracket_family("lowest_bit_first"), detail::lowest_bit_tree(at.size, aggregation_limit).walked()};
    }
    static constexpr bool symmetric = true;
    constexpr label text() const {
        return label("lowest_bit_first_reduce_scatter").field("aggregation_limit", aggregation_limit, 0);
    }
    constexpr label family_text() const {
        return label("lowest_bit_first").field("aggregation_limit", aggregation_limit, 0);
    }
    friend constexpr bool operator==(const lowest_bit_first_reduce_scatter&,
                                     const lowest_bit_first_reduce_scatter&) = default;
};

} // namespace bough

#endif
