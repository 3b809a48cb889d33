// SPDX-License-Identifier: BSL-1.0
// Allgather down binomial trees, far distances first: optimal for any number of ranks, and most
// data stays near.
//
// Rank b is the root of a tree for block b. The rank o places behind it on the circle gets the
// block from the one at o without its lowest set bit. The far distances come first, when there is
// little to send: half of all data goes over distance 1, a quarter over distance 2. With a limit of
// 2^a blocks a message, only the a furthest distances are done so; then the rest of the tree is
// walked in the order of o, with a message of at most 2^a blocks in each step.
//
// Ranks       any
// Op          none
// Rounds      q = ceil(log2 p): optimal; with a limit of 2^a, a < q: a + 2^(q-a) - 1, and p - 1 if a = 0
// Traffic     a rank sends p - 1 blocks: optimal
// Combines    none
// Scratch     none; blocks lie at a stride, so a message has a part for each
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
#include <bough/algorithm/detail/lowest_bit_tree.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/plan.hpp>

namespace bough::inline BOUGH_ABI {

struct lowest_bit_first_allgather {
    using serves = goals<goal::allgather>;
    // The most blocks in a message, rounded down to a power of two; 0: no limit.
    block_t aggregation_limit = 0;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const detail::lowest_bit_tree tree(at.size, aggregation_limit);
        out.copy({input, rank, 1}, {output, rank, 1});
        tree.downwards([&](rank_t distance, const auto& offsets) {
            const rank_t to = around.ahead(rank, distance);
            const rank_t from = around.behind(rank, distance);
            offsets.for_each([&](rank_t o, bool more) {
                const slice part{output, around.behind(rank, o - distance), 1};
                more ? out.send_part(to, part) : out.send(to, part);
            });
            offsets.for_each([&](rank_t o, bool more) {
                const slice part{output, around.behind(rank, o), 1};
                more ? out.receive_part(from, part) : out.receive(from, part);
            });
        });
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = lowest_bit_first_allgather;
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    static constexpr bool symmetric = true;
    constexpr label text() const {
        return label("lowest_bit_first_allgather").field("aggregation_limit", aggregation_limit, 0);
    }
    constexpr label family_text() const {
        return label("lowest_bit_first").field("aggregation_limit", aggregation_limit, 0);
    }
    friend constexpr bool operator==(const lowest_bit_first_allgather&, const lowest_bit_first_allgather&) = default;
};

} // namespace bough

#endif
