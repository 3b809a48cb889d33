// SPDX-License-Identifier: BSL-1.0
// The plans of bough, for tests that hold for all of them. An algorithm is missing here? Add it to its collective.
//
// Plans are plan<Goal, any_algorithm>: what is done with them is compiled once for each collective.
#ifndef BOUGH_TEST_SUPPORT_PLANS_HPP
#define BOUGH_TEST_SUPPORT_PLANS_HPP

#include "support/direct.hpp"
#include "support/packed.hpp"
#include "support/sources.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/allreduce/dual_root.hpp>
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/allreduce/trivance.hpp>
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/grouped.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/binary_blocks.hpp>
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/double_tree.hpp>
#include <bough/algorithm/exscan/chain.hpp>
#include <bough/algorithm/exscan/inclusive_then_exclusive.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/algorithm/gather/tree.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/packed_trees.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/algorithm/reduce/circulant.hpp>
#include <bough/algorithm/reduce/ring.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/algorithm/scan/chain.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/algorithm/swing.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/grid_extents.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/tree/binomial.hpp>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace test {

// Calls f(name, any_algorithm) for each algorithm of a collective. Some refuse these dimensions (check_plan).
template <class Goal, class F>
void for_each_algorithm(const bough::dimensions& at, F f) {
    using namespace bough;
    const auto of_sources = [&](auto&& make) {
        for_each_source(at, [&](const char* name, const auto& source, bool) { make(std::string(name), source); });
    };
    // Two groups if the ranks are even in number, else groups of one and of all.
    const contiguous_groups groups{.ranks_per_group = at.size % 2 == 0 ? at.size / 2 : at.size};
    const contiguous_groups triples{.ranks_per_group = 3};
    const auto add = [&](const char* name, const auto& choice) {
        f(std::string(name), any_algorithm(algorithm_for<Goal>(choice)));
    };
    // A torus of two or three rows; refused where there are none.
    [[maybe_unused]] const grid_extents two_rows{2, std::max(at.size / 2, 1u)},
        three_rows{3, std::max(at.size / 3, 1u)};
    if constexpr (std::is_same_v<Goal, goal::reduce>) {
        of_sources([&](const std::string& name, const auto& source) {
            f(name, any_algorithm(tree_reduce{source}));
            f(name + ", reversed", any_algorithm(reverse(tree_broadcast{source})));
            f(name + ", one plane", any_algorithm(tree_reduce{source, 1}));
        });
        add("halving doubling", halving_doubling{});
        add("binary blocks", binary_blocks{});
        add("circulant", circulant_reduce{});
        add("double tree", double_tree{});
        add("per level", per_level{});
        add("per level, folded", per_level{fold_levels(at.size)});
        add("ring", ring_reduce{});
        add("packed trees", packed_trees_reduce{packed(at.size, at.root)});
        add("by owner", by_owner{});
        add("leaders of triples", compose_leaders(fnomial{.degree = 3}, binomial{}, triples));
        add("lanes", compose(ring{}, fnomial{.degree = 3}, groups));
    } else if constexpr (std::is_same_v<Goal, goal::broadcast>) {
        of_sources(
            [&](const std::string& name, const auto& source) { f(name, any_algorithm(tree_broadcast{source})); });
        add("circulant", circulant_broadcast{});
        add("packed trees", packed_trees_broadcast{packed(at.size, at.root)});
        add("double tree", double_tree{});
        add("binomial scatter, circulant allgather", scatter_allgather{binomial{}, circulant{}});
        add("binomial scatter, ring allgather", scatter_allgather{ordered<binomial>{}, ring{}});
        add("leaders of triples", compose_leaders(fnomial{.degree = 3}, binomial{}, triples));
        add("lanes", compose(ring{}, fnomial{.degree = 3}, groups));
    } else if constexpr (std::is_same_v<Goal, goal::allreduce>) {
        of_sources([&](const std::string& name, const auto& source) {
            f(name, any_algorithm(tree_allreduce{source}));
            f(name + ", two planes", any_algorithm(tree_allreduce{source, 2}));
        });
        add("recursive doubling", recursive_doubling{});
        add("halving doubling", halving_doubling{});
        add("binary blocks", binary_blocks{});
        add("per level", per_level{});
        add("per level, exchange", per_level{.form = level_form::exchange});
        add("per level, folded", per_level{fold_levels(at.size)});
        add("double tree", double_tree{});
        add("packed trees", packed_trees_allreduce{packed(at.size, at.size - 1), packed(at.size, at.size - 1, true)});
        add("swing", swing{});
        add("swing, one port", swing{.ports = 1});
        add("swing, two rows", swing{.extents = two_rows});
        add("bucket", bucket{});
        add("bucket, two rows", bucket{.extents = two_rows});
        add("bucket, three rows, one port", bucket{.extents = three_rows, .ports = 1});
        add("trivance", trivance_allreduce{});
        add("trivance, three rows", trivance_allreduce{three_rows});
        add("trivance census", inexact_trivance_census{});
        add("trivance census, three rows", inexact_trivance_census{three_rows});
        add("late rank", late_rank_allreduce{});
        add("late rank, the last", late_rank_allreduce{.late = at.size - 1});
        add("slow rank", slow_rank_allreduce{});
        add("slow rank, the last", slow_rank_allreduce{.slow = at.size - 1});
        add("dual root", dual_root_allreduce{});
        add("dual root, chains", dual_root_allreduce{.arity = 1, .slack = false});
        add("ring", ring{});
        add("circulant", circulant{});
        add("circulant, two ports", circulant{.ports = 2});
        add("lowest bit first", lowest_bit_first{});
        add("lowest bit first, in twelve blocks", lowest_bit_first{.scratch_limit = 12});
        add("pairwise, bruck", reduce_scatter_allgather<pairwise_reduce_scatter, bruck_allgather>{});
        add("census", inexact_census{});
        add("by owner", by_owner{});
        add("leaders of triples", compose_leaders(fnomial{.degree = 3}, recursive_doubling{}, triples));
        add("lanes", compose(ring{}, circulant{}, groups));
    } else if constexpr (std::is_same_v<Goal, goal::barrier>) {
        add("dissemination", dissemination{});
        add("recursive doubling", recursive_doubling{});
    } else if constexpr (std::is_same_v<Goal, goal::gather>) {
        of_sources([&](const std::string& name, const auto& source) { f(name, any_algorithm(tree_gather{source})); });
    } else if constexpr (std::is_same_v<Goal, goal::scatter>) {
        of_sources([&](const std::string& name, const auto& source) { f(name, any_algorithm(tree_scatter{source})); });
    } else if constexpr (std::is_same_v<Goal, goal::scan>) {
        add("recursive doubling", recursive_doubling_scan{});
        add("chain", chain_scan{});
    } else if constexpr (std::is_same_v<Goal, goal::exscan>) {
        add("inclusive then exclusive", inclusive_then_exclusive{});
        add("recursive doubling", recursive_doubling_exscan{});
        add("chain", chain_exscan{});
    } else if constexpr (std::is_same_v<Goal, goal::reduce_scatter>) {
        add("recursive halving", recursive_halving{});
        add("recursive halving, far ones first", recursive_halving{.distance = distances::halving});
        add("pairwise", pairwise_reduce_scatter{});
        add("by owner", by_owner{});
        add("ring", ring{});
        add("circulant", circulant{});
        add("circulant, two ports", circulant{.ports = 2});
        add("circulant, five ports", circulant{.ports = 5});
        add("lowest bit first", lowest_bit_first{});
        add("lowest bit first, four at once", lowest_bit_first{.aggregation_limit = 4});
        add("lowest bit first, in twelve blocks", lowest_bit_first{.scratch_limit = 12});
        add("swing", swing{});
        add("swing, two rows", swing{.extents = two_rows});
        add("bucket, two rows", bucket{.extents = two_rows});
        add("bucket, three rows, one port", bucket{.extents = three_rows, .ports = 1});
        add("packed trees", packed_trees_reduce_scatter{packed_from_all(at.size)});
        add("direct", direct_reduce_scatter{});
        add("lanes", compose(ring{}, circulant{}, groups));
    } else if constexpr (std::is_same_v<Goal, goal::allgather>) {
        add("recursive doubling", halving_doubling{});
        add("bruck", bruck_allgather{});
        add("bruck, two ports", bruck_allgather{.ports = 2});
        add("ring", ring{});
        add("neighbour exchange", neighbour_exchange{});
        add("circulant", circulant{});
        add("circulant, two ports", circulant{.ports = 2});
        add("circulant, five ports", circulant{.ports = 5});
        add("lowest bit first", lowest_bit_first{});
        add("lowest bit first, four at once", lowest_bit_first{.aggregation_limit = 4});
        add("swing", swing{});
        add("swing, two rows", swing{.extents = two_rows});
        add("bucket, two rows", bucket{.extents = two_rows});
        add("bucket, three rows, one port", bucket{.extents = three_rows, .ports = 1});
        add("packed trees", packed_trees_allgather{packed_from_all(at.size)});
        add("direct", direct_allgather{});
        add("lanes", compose(ring{}, circulant{}, groups));
    } else if constexpr (std::is_same_v<Goal, goal::alltoall>) {
        add("pairwise", pairwise_alltoall{});
        add("pairwise, two sends ahead", pairwise_alltoall{.ahead = 2});
        add("bruck", bruck_alltoall{});
        add("bruck, base four", bruck_alltoall{.ports = 3});
        add("by groups", grouped_alltoall{groups});
        add("by groups of three, two lanes", grouped_alltoall{triples, 2});
        add("direct", direct_alltoall{});
        add("relayed", relayed_alltoall{});
    }
}

// Calls f(name, plan) for each plan of a collective in these dimensions.
template <class Goal, class F>
void for_each_plan_of(const bough::dimensions& at, F f) {
    for_each_algorithm<Goal>(at, [&](const std::string& name, const bough::any_algorithm& algorithm) {
        if (!check_plan(algorithm, at)) f(name.c_str(), bough::plan<Goal, bough::any_algorithm>(algorithm, at));
    });
}

// Calls f(name, plan) for each plan of these dimensions.
template <class F>
void for_each_plan(const bough::dimensions& at, F f) {
    using namespace bough;
    for_each_plan_of<goal::reduce>(at, f);
    for_each_plan_of<goal::allreduce>(at, f);
    for_each_plan_of<goal::broadcast>(at, f);
    for_each_plan_of<goal::gather>(at, f);
    for_each_plan_of<goal::scatter>(at, f);
    for_each_plan_of<goal::scan>(at, f);
    for_each_plan_of<goal::exscan>(at, f);
    for_each_plan_of<goal::reduce_scatter>(at, f);
    for_each_plan_of<goal::allgather>(at, f);
    for_each_plan_of<goal::alltoall>(at, f);
    if (at.blocks == 1 || at.blocks == natural_blocks) for_each_plan_of<goal::barrier>(at, f);
}

} // namespace test

#endif
