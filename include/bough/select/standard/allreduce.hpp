// SPDX-License-Identifier: BSL-1.0
// The standard candidates for allreduce: whole vectors for short ones, reduce_scatter and allgather
// for long ones.
#ifndef BOUGH_SELECT_STANDARD_ALLREDUCE_HPP
#define BOUGH_SELECT_STANDARD_ALLREDUCE_HPP

#include <bough/algorithm/allreduce/binary_blocks.hpp>
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/allreduce/double_tree.hpp>
#include <bough/algorithm/allreduce/dual_root.hpp>
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/select/slow_ranks.hpp>
#include <bough/select/standard_set.hpp>
#include <bough/tree/fnomial.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::allreduce> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        made.add(recursive_doubling{});
        if (what.exact_op) made.add(census{}); // fewest rounds, but every rank combines in its own order
        for (const rank_t degree : {2u, 3u, 4u, 5u, 6u, 8u, 16u})
            if (degree + 1 < at.size) made.add(tree_allreduce{fnomial{degree}});
        made.add(tree_allreduce{fnomial{at.size < 2 ? 2 : at.size}}); // flat: every rank to rank 0 and back
        made.add(per_level_allreduce{.form = level_form::exchange});
        if (at.size > 2 && at.size <= detail::most_at_once) // each to all others: one round
            made.add(per_level_allreduce{.levels = {{.radix = at.size}}, .form = level_form::exchange});
        if (at.size < 2 || what.bytes / at.size == 0) return; // some blocks would have no bytes
        if (detail::may_combine_in_series(at, what)) made.add(by_owner_allreduce{});
        made.add(halving_doubling_allreduce{});
        if (!std::has_single_bit(at.size)) made.add(binary_blocks_allreduce{});
        made.add(per_level_allreduce{});
        // For vectors neither short nor long: halve the vector while the parts are large, then send
        // them whole.
        const level_list levels = steady_levels(at.size);
        for (std::uint32_t halved = 1; halved <= 2 && halved + 1 < levels.size(); ++halved)
            made.add(per_level_allreduce{.levels = levels.halved_first(halved)});
        for (const rank_t ports : {1u, 2u, 3u}) // several messages at a time
            if (ports < 2 || ports < at.size) made.add(bough::algorithm_for<goal::allreduce>(circulant{ports}));
        made.add(bough::algorithm_for<goal::allreduce>(lowest_bit_first{}));
        made.add(bough::algorithm_for<goal::allreduce>(ring{}));
        detail::add_segmented(made, double_tree_allreduce{}, at, what, 256); // few peers, and few rounds
        if (what.late < at.size) detail::add_segmented(made, late_rank_allreduce{what.late}, at, what);
    }
    // Where rank order is needed: a pipeline, for long vectors.
    static void add_in_order(auto& made, const dimensions& at, const problem& what) {
        if (at.size > 2) detail::add_segmented(made, dual_root_allreduce{.arity = 1}, at, what);
    }
    // Where one rank is slow: plans around it.
    static void add_for_costs(auto& made, const dimensions& at, const problem& what, const any_cost_model& costs) {
        add_slow_rank(made, at, what, costs);
    }
};

} // namespace bough

#endif
