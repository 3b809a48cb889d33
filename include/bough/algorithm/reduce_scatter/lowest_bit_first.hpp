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
// Op          commutative: a block's partial results are of neighbours on the circle, which may pass rank
//             0
// Rounds      q = ceil(log2 p): optimal; with a limit of 2^a, a < q: a + 2^(q-a) - 1, and p - 1 if a = 0
// Traffic     a rank sends p - 1 blocks: optimal
// Combines    p - 1 blocks a rank: optimal
// Scratch     2 floor(p / 2) - 1 blocks: half for landing, half for partial results; a message has
//             a part for each block, and is packed before it leaves. With a limit of 2^a: at most
//             2^a (q - a + 4) blocks, and q + 1 if a = 0
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
// With a limit of 2 (a row of partial results takes the place of the one before):
//   round 1   sends 4 to 6           gets 5 from 1           row 2: 5 of ranks 0-1, 1 of rank 0
//   round 2   sends row 2 to 5       gets 0 3 from 2         has 0 3 of ranks 0 2-3
//   round 3   sends 6 2 to 6         gets 0 3 from 1         has 0 3 of ranks 0-3
//   round 4   sends 3 to 3           gets 0 from 4           has 0 of all
#ifndef BOUGH_ALGORITHM_REDUCE_SCATTER_LOWEST_BIT_FIRST_HPP
#define BOUGH_ALGORITHM_REDUCE_SCATTER_LOWEST_BIT_FIRST_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/algorithm/detail/lowest_bit_scratch.hpp>
#include <bough/algorithm/detail/lowest_bit_tree.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct lowest_bit_first_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;
    static constexpr bool has_packed_planes = true; // with a limit
    // The most blocks in a message, rounded down to a power of two; 0: no limit.
    block_t aggregation_limit = 0;
    // The most blocks of scratch memory: limits messages as far as that takes; 0: no limit.
    block_t scratch_limit = 0;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (at.size == 1)
            out.copy({input, 0, 1}, {output, 0, 1});
        else if (const block_t limit = limit_at(at.size); limit == 0)
            emit_unlimited(at, rank, out);
        else
            emit_limited(at, rank, limit, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = lowest_bit_first_reduce_scatter;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        if (at.size == 1) return 0;
        const block_t limit = limit_at(at.size);
        return limit == 0 ? at.size / 2 * 2 - 1 : static_cast<block_t>(needs(at.size, limit));
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (scratch_limit != 0 && needs(at.size, 1) > scratch_limit)
            return invalid_argument("scratch_limit: must be at least ceil(log2 ranks) + 1 blocks");
        return detail::check_block_per_rank(at);
    }
    constexpr bool keeps_rank_order(const dimensions& at) const noexcept { return at.size <= 2; }
    static constexpr bool may_hold = true;
    static constexpr bool accumulates_in_plane_0 = true;
    constexpr bracket_class bracket(const dimensions& at) const noexcept {
        return {bracket_family("lowest_bit_first"), detail::lowest_bit_tree(at.size, limit_at(at.size)).walked()};
    }
    static constexpr bool symmetric = true;
    constexpr label text() const {
        return label("lowest_bit_first_reduce_scatter")
            .field("aggregation_limit", aggregation_limit, 0)
            .field("scratch_limit", scratch_limit, 0);
    }
    constexpr label family_text() const {
        return label("lowest_bit_first")
            .field("aggregation_limit", aggregation_limit, 0)
            .field("scratch_limit", scratch_limit, 0);
    }
    friend constexpr bool operator==(const lowest_bit_first_reduce_scatter&,
                                     const lowest_bit_first_reduce_scatter&) = default;

private:
    static constexpr buffer partial = bough::scratch(0);

    static constexpr std::uint64_t needs(rank_t size, block_t limit) noexcept {
        return detail::lowest_bit_needs(size, limit).of_reduce_scatter();
    }
    constexpr block_t limit_at(rank_t size) const noexcept {
        return detail::lowest_bit_limit(size, aggregation_limit, scratch_limit,
                                        [size](block_t limit) { return needs(size, limit); });
    }
    constexpr void emit_unlimited(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const detail::lowest_bit_tree tree(at.size, 0);
        const buffer landed = bough::scratch(1);
        tree.upwards([&](rank_t distance, const auto& offsets) {
            const rank_t from = around.ahead(rank, distance);
            send(around, rank, distance, offsets, out,
                 [&](rank_t o) { return tree.has_children(o) ? partial : input; });
            receive(around, rank, distance, offsets, landed, out);
            offsets.for_each(
                [&](rank_t o, bool) { combine(around, tree, from, landed, rank, o - distance, distance, out); });
        });
    }
    // Messages are put together, land and accumulate in packed planes; only the few partial results that
    // are there to the end have a plane with room for each block.
    constexpr void emit_limited(const dimensions& at, rank_t rank, block_t limit, StepSink auto& out) const {
        const detail::circle around{at.size};
        const detail::lowest_bit_tree tree(at.size, limit);
        const detail::lowest_bit_scratch planes(tree, 1);
        tree.upwards([&](rank_t distance, const auto& offsets) {
            const rank_t from = around.ahead(rank, distance);
            const auto first = static_cast<rank_t>(offsets.first);
            const buffer have = !tree.has_children(first) ? input
                                : tree.is_walked(offsets) ? planes.row(first)
                                                          : partial;
            if (offsets.has_several() && have.packed == 0) {
                const buffer leaving = planes.leaving_leaf(offsets);
                offsets.for_each([&](rank_t o, bool) {
                    const slice part{leaving, around.behind(rank, o), 1};
                    out.copy(part.in(tree.has_children(o) ? have : input), part);
                });
                send(around, rank, distance, offsets, out, [&](rank_t) { return leaving; });
            } else {
                send(around, rank, distance, offsets, out, [&](rank_t) { return have; });
            }
            const buffer landed = planes.landing(offsets);
            receive(around, rank, distance, offsets, landed, out);
            if (const std::uint64_t parent = first - distance; parent != 0 && tree.is_walked(offsets))
                // A row is written as a whole with its first messages, also where a block has none yet.
                for (std::uint64_t o = parent; o < at.size; o += tree.walked()) {
                    const slice part{planes.row(parent), around.behind(rank, static_cast<rank_t>(o)), 1};
                    const bool is_first = tree.comes_first(static_cast<rank_t>(parent), distance);
                    if (o + distance < at.size)
                        around.combine(from, landed, rank, is_first ? input : part.buffer, part.buffer, part.first, 1,
                                       out);
                    else if (is_first)
                        out.copy(part.in(input), part);
                }
            else
                offsets.for_each(
                    [&](rank_t o, bool) { combine(around, tree, from, landed, rank, o - distance, distance, out); });
        });
    }
    // `have(o)`: where the partial results of offset o lie.
    template <class Have>
    static constexpr void send(const detail::circle& around, rank_t rank, rank_t distance, const auto& offsets,
                               StepSink auto& out, Have&& have) {
        const rank_t to = around.behind(rank, distance);
        offsets.for_each([&](rank_t o, bool more) {
            const slice part{have(o), around.behind(rank, o), 1};
            more ? out.send_part(to, part) : out.send(to, part);
        });
    }
    static constexpr void receive(const detail::circle& around, rank_t rank, rank_t distance, const auto& offsets,
                                  buffer landed, StepSink auto& out) {
        const rank_t from = around.ahead(rank, distance);
        offsets.for_each([&](rank_t o, bool more) {
            const slice part{landed, around.behind(rank, o - distance), 1};
            more ? out.receive_part(from, part) : out.receive(from, part);
        });
    }
    // Combines the partial result of offset `parent` with what has come for it.
    static constexpr void combine(const detail::circle& around, const detail::lowest_bit_tree& tree, rank_t from,
                                  buffer landed, rank_t rank, rank_t parent, rank_t distance, StepSink auto& out) {
        const buffer result = parent == 0 ? output : partial;
        const buffer have = tree.comes_first(parent, distance) ? input : result;
        around.combine(from, landed, rank, have, result, around.behind(rank, parent), 1, out);
    }
};

} // namespace bough

#endif
