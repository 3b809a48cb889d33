// SPDX-License-Identifier: BSL-1.0
// Allgather down binomial trees, far distances first: optimal for any number of ranks, and most
// data stays near.
//
// Rank b is the root of a tree for block b. The rank o places behind it on the circle gets the
// block from the one at o without its lowest set bit. The far distances come first, when there is
// little to send: half of all data goes over distance 1, a quarter over distance 2. With a limit of
// 2^a blocks a message, only the a furthest distances are done so; then the rest of the tree is
// walked in the order of o, with a message of at most 2^a blocks in each step. Then messages are put
// together and land in a few packed planes, so the memory is bounded, too.
//
// Ranks       any
// Op          none
// Rounds      q = ceil(log2 p): optimal; with a limit of 2^a, a < q: a + 2^(q-a) - 1, and p - 1 if a = 0
// Traffic     a rank sends p - 1 blocks: optimal
// Combines    none
// Scratch     none; blocks lie at a stride, so a message has a part for each, and is packed before it
//             leaves; with a limit of 2^a: at most 2^(a+2) blocks, and none if a = 0
// Time        alpha_beta_gamma: q alpha + (p - 1) / p n beta
// Determinism blocks are only moved
// Pre         one block a rank; they may differ in length
// Errors      none of its own
// Source      Loch, Koslovski 2021, "Sparbit: a new logarithmic-cost and data locality-aware MPI
//             Allgather algorithm"; the limit: Jeaugey 2025, "PAT: a new algorithm for all-gather
//             and reduce-scatter operations at scale"
//
// Picture, p = 7, rank 0:
//   round 1   sends 0 to 4           gets 3 from 3           has 0 3
//   round 2   sends 0 3 to 2         gets 5 1 from 5         has 0 1 3 5
//   round 3   sends 0 5 3 to 1       gets 6 4 2 from 6       has all
#ifndef BOUGH_ALGORITHM_ALLGATHER_LOWEST_BIT_FIRST_HPP
#define BOUGH_ALGORITHM_ALLGATHER_LOWEST_BIT_FIRST_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/algorithm/detail/lowest_bit_scratch.hpp>
#include <bough/algorithm/detail/lowest_bit_tree.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct lowest_bit_first_allgather {
    using serves = goals<goal::allgather>;
    static constexpr bool has_packed_planes = true; // with a limit
    // The most blocks in a message, rounded down to a power of two; 0: no limit.
    block_t aggregation_limit = 0;
    // The most blocks of scratch memory: limits messages as far as that takes; 0: no limit.
    block_t scratch_limit = 0;
    // Counts the scratch memory as the reduce_scatter does, so that both of an allreduce stay within the
    // limit.
    bool after_reduce_scatter = false;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const block_t limit = limit_at(at.size);
        const detail::lowest_bit_tree tree(at.size, limit);
        const detail::lowest_bit_scratch planes(tree, 0);
        out.copy({input, rank, 1}, {output, rank, 1});
        tree.downwards([&](rank_t distance, const auto& offsets) {
            const rank_t to = around.ahead(rank, distance);
            const rank_t from = around.behind(rank, distance);
            const bool is_packed = limit != 0 && offsets.has_several();
            const buffer leaving = is_packed ? planes.leaving(offsets) : output;
            const buffer landing = is_packed ? planes.landing(offsets) : output;
            if (is_packed)
                offsets.for_each([&](rank_t o, bool) {
                    const slice part{output, around.behind(rank, o - distance), 1};
                    out.copy(part, part.in(leaving));
                });
            offsets.for_each([&](rank_t o, bool more) {
                const slice part{leaving, around.behind(rank, o - distance), 1};
                more ? out.send_part(to, part) : out.send(to, part);
            });
            offsets.for_each([&](rank_t o, bool more) {
                const slice part{landing, around.behind(rank, o), 1};
                more ? out.receive_part(from, part) : out.receive(from, part);
            });
            if (is_packed)
                offsets.for_each([&](rank_t o, bool) {
                    const slice part{landing, around.behind(rank, o), 1};
                    out.copy(part, part.in(output));
                });
        });
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = lowest_bit_first_allgather;
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept {
        const block_t limit = limit_at(at.size);
        return limit == 0 ? 0 : static_cast<block_t>(detail::lowest_bit_needs(at.size, limit).of_allgather());
    }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    static constexpr bool symmetric = true;
    constexpr label text() const {
        return label("lowest_bit_first_allgather")
            .field("aggregation_limit", aggregation_limit, 0)
            .field("scratch_limit", scratch_limit, 0)
            .field("after_reduce_scatter", after_reduce_scatter ? 1 : 0, 0);
    }
    constexpr label family_text() const {
        return label("lowest_bit_first")
            .field("aggregation_limit", aggregation_limit, 0)
            .field("scratch_limit", scratch_limit, 0);
    }
    friend constexpr bool operator==(const lowest_bit_first_allgather&, const lowest_bit_first_allgather&) = default;

private:
    constexpr block_t limit_at(rank_t size) const noexcept {
        return detail::lowest_bit_limit(size, aggregation_limit, scratch_limit, [&](block_t limit) {
            const detail::lowest_bit_needs needs(size, limit);
            return after_reduce_scatter ? needs.of_reduce_scatter() : needs.of_allgather();
        });
    }
};

} // namespace bough

#endif
