// SPDX-License-Identifier: BSL-1.0
// Two levels, proved as one plan: every goal, groups of every size, any root; what crosses between groups.
#include "proof.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/schedule/traffic.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr auto by_lanes = [](rank_t p) {
    return plan_allreduce(compose(ring{}, recursive_doubling{}, contiguous_groups{.ranks_per_group = p / 2}),
                          {.size = p});
};
static_assert(test::proven_for<by_lanes, 2, 6, 10>());
constexpr auto by_leaders = [](rank_t p) {
    return plan_reduce(compose_leaders(binomial{}, fnomial{.degree = 3}, contiguous_groups{.ranks_per_group = 3}),
                       {.size = p, .root = p / 2});
};
static_assert(test::proven_everywhere<by_leaders>());

// A goal asks of the levels what it needs, and no more.
constexpr contiguous_groups pairs{.ranks_per_group = 2};
static_assert(
    proven<verify(plan_reduce_scatter(compose(pairwise_reduce_scatter{}, circulant{}, pairs), {.size = 6}))>());
static_assert(proven<verify(plan_allgather(compose(bruck_allgather{}, circulant{}, pairs), {.size = 6}))>());
static_assert(proven<verify(plan_reduce(compose_leaders(tree_reduce{binomial{}}, binomial{}, pairs), {.size = 5}))>());
static_assert(
    proven<verify(plan_broadcast(compose_leaders(tree_broadcast{binomial{}}, binomial{}, pairs), {.size = 5}))>());
static_assert(!FamilyFor<composed<ring_reduce_scatter, ring, contiguous_groups>, goal::allreduce>);
static_assert(!FamilyFor<composed_leaders<tree_reduce<binomial>, circulant, contiguous_groups>, goal::allreduce>);

// What the levels claim, the whole claims.
constexpr auto census_lanes = algorithm_for<goal::allreduce>(compose(ring{}, census{}, pairs));
constexpr auto census_leaders = algorithm_for<goal::allreduce>(compose_leaders(binomial{}, census{}, pairs));
static_assert(decltype(census_lanes)::needs_exact && decltype(census_leaders)::needs_exact);
static_assert(needs_exact(census_lanes) && needs_exact(census_leaders));
static_assert(!claims_of(census_lanes, {.size = 6}).rank_consistent);
static_assert(!claims_of(census_leaders, {.size = 6}).rank_consistent);
static_assert(claims_of(census_lanes, {.size = 2}).rank_consistent); // one group
static_assert(!needs_exact(algorithm_for<goal::allreduce>(compose(ring{}, inexact_census{}, pairs))));

// Three levels: a composed family is a level of another.
constexpr auto three_levels =
    plan_allreduce(compose(ring{}, compose(ring{}, ring{}, contiguous_groups{.ranks_per_group = 2}),
                           contiguous_groups{.ranks_per_group = 2}),
                   {.size = 12});
static_assert(proven<verify(three_levels)>());

template <class P>
void check(const P& plan) {
    const verdict v = verify(plan);
    INFO(to_string(v) << ", p = " << plan.size() << ", root " << plan.root() << ", blocks " << plan.blocks());
    REQUIRE(v);
    REQUIRE((!v.traits.needs_commutative || !keeps_rank_order(plan.algorithm(), plan.at())));
    REQUIRE(v.traits.rank_consistent);
}

// Groups of one size that are no intervals: rank r is in group r mod n.
listed_groups dealt(rank_t size, rank_t groups) {
    std::vector<rank_t> group_of_rank;
    for (rank_t r = 0; r != size; ++r) group_of_rank.push_back(r % groups);
    return listed_groups(group_of_rank);
}

template <class Inner, class Outer, class Groups>
void check_all_goals(const Inner& inner, const Outer& outer, const Groups& groups, rank_t p, rank_t root) {
    const auto family = compose(inner, outer, groups);
    check(plan_allreduce(family, {.size = p}));
    check(plan_reduce_scatter(family, {.size = p}));
    check(plan_allgather(family, {.size = p}));
    const auto with_trees = compose(inner, fnomial{.degree = 3}, groups);
    check(plan_reduce(with_trees, {.size = p, .root = root}));
    check(plan_broadcast(with_trees, {.size = p, .root = root}));
    const block_t several = 3 * groups.members(p, 0);
    check(plan_allreduce(with_trees, {.size = p, .blocks = several}));
    check(plan_broadcast(with_trees, {.size = p, .root = root, .blocks = several}));
}

} // namespace

TEST_CASE("lanes: every goal, every group size") {
    for (rank_t p = 1; p <= 18; ++p)
        for (rank_t g = 1; g <= p; ++g) {
            if (p % g != 0) continue;
            const rank_t root = (p * 2 + g) % p;
            check_all_goals(ring{}, circulant{}, contiguous_groups{.ranks_per_group = g}, p, root);
            check_all_goals(lowest_bit_first{}, ring{}, dealt(p, p / g), p, root);
            // Their packed planes have the same numbers as planes of the other level that are not packed.
            check_all_goals(lowest_bit_first{.aggregation_limit = 2}, lowest_bit_first{.aggregation_limit = 4},
                            contiguous_groups{.ranks_per_group = g}, p, root);
            check_all_goals(ring{}, lowest_bit_first{.aggregation_limit = 4}, dealt(p, p / g), p, root);
        }
}

TEST_CASE("leaders: groups of any sizes, any root") {
    for (rank_t p = 1; p <= 17; ++p)
        for (rank_t g = 1; g <= p; ++g)
            for (rank_t root = 0; root < p; root += 3) {
                const auto family = compose_leaders(fnomial{.degree = 3}, binomial{}, contiguous_groups{g});
                for (const block_t blocks : {1u, 3u}) {
                    const dimensions at{.size = p, .root = root, .blocks = blocks};
                    check(plan_allreduce(family, at));
                    check(plan_reduce(family, at));
                    check(plan_broadcast(family, at));
                }
            }
    const listed_groups uneven{{0, 1, 1, 0, 1, 2, 1}};
    for (rank_t root = 0; root != 7; ++root) {
        const auto family = compose_leaders(binomial{}, recursive_doubling{}, uneven);
        check(plan_allreduce(family, {.size = 7, .root = root}));
        check(plan_reduce(compose_leaders(binomial{}, binomial{}, uneven), {.size = 7, .root = root}));
    }
}

TEST_CASE("lanes divide what crosses between groups") {
    // p = 24 in 4 groups of 6, 24 blocks: a bandwidth-optimal allreduce over 4 ranks moves 2 * 3/4 of the lane's sixth.
    const auto group_of = [](rank_t r) { return r / 6; };
    const contiguous_groups groups{.ranks_per_group = 6};
    const auto lanes = plan_allreduce(compose(ring{}, circulant{}, groups), {.size = 24});
    REQUIRE(lanes.blocks() == 24);
    CHECK(traffic(lanes, group_of).across.blocks == 24 * 2 * 3); // 24 ranks, 2 * 3 of their lane's 4 blocks
    // One leader a group moves the same in all, but it alone: 36 blocks each, instead of 6.
    const auto led = plan_allreduce(compose_leaders(binomial{}, circulant{}, groups), {.size = 24, .blocks = 4});
    CHECK(traffic(led, group_of).across.blocks == 4 * 2 * 3);
    // A flat circulant allreduce, which does not know the groups.
    CHECK(traffic(plan_allreduce(circulant{}, {.size = 24}), group_of).across.blocks > 3 * 24 * 2 * 3);
}

TEST_CASE("groups that do not fit are refused, and say why") {
    const auto family = compose(ring{}, ring{}, contiguous_groups{.ranks_per_group = 4});
    CHECK(check_plan(family.algorithm_for(goal::allreduce{}), {.size = 10}).code == errc::invalid_argument);
    CHECK(!check_plan(family.algorithm_for(goal::allreduce{}), {.size = 12}));
    CHECK(check_plan(family.algorithm_for(goal::allreduce{}), {.size = 12, .blocks = 6}).code ==
          errc::invalid_argument);
    const auto none = compose(ring{}, ring{}, contiguous_groups{.ranks_per_group = 0});
    CHECK(check_plan(none.algorithm_for(goal::allreduce{}), {.size = 10}).code == errc::invalid_argument);
    CHECK(listed_groups{{0, 0, 2, 2}}.check(4).code == errc::invalid_argument);
    CHECK(listed_groups{{1, 1}}.check(2).code == errc::invalid_argument);
    CHECK(listed_groups{{0, 0, 1}}.check(4).code == errc::invalid_argument);
    CHECK(!listed_groups{{1, 0, 1, 0}}.check(4));
}

TEST_CASE("a composed census differs from rank to rank, and says so") {
    const auto check_claims = [](const auto& a, rank_t p) {
        const auto plan = plan_allreduce(a, {.size = p});
        CHECK(verify_claims(plan));
        CHECK(verify(plan).traits.rank_consistent == claims_of(a, plan.at()).rank_consistent);
        const any_algorithm any = a;
        CHECK(needs_exact(any));
        CHECK(any.claims(plan.at()) == claims_of(a, plan.at()));
        // A level that is chosen at run time.
        CHECK(needs_exact(compose_leaders(binomial{}, any, pairs).algorithm_for(goal::allreduce{})));
    };
    for (rank_t p = 2; p <= 14; p += 2) {
        CAPTURE(p);
        check_claims(census_lanes, p);
        check_claims(census_leaders, p);
    }
    CHECK_FALSE(needs_exact(any_algorithm(recursive_doubling{})));
    CHECK(needs_exact(any_algorithm::of<goal::allreduce>(census{})));
}

TEST_CASE("composed: labels show the levels") {
    const auto text = [](const auto& a) { return std::string(label_of(a).c_str()); };
    CHECK(text(census_lanes) == "lanes{ring, census, contiguous_groups{.ranks_per_group = 2}}");
    CHECK(text(algorithm_for<goal::reduce>(compose_leaders(binomial{}, fnomial{3}, contiguous_groups{5}))) ==
          "leaders{" + text(binomial{}) + ", fnomial{.degree = 3}, contiguous_groups{.ranks_per_group = 5}}");
    CHECK(text(listed_groups{{0, 1}}) != text(listed_groups{{1, 0}}));
}

TEST_CASE("listed groups: every question against the list") {
    const std::vector<rank_t> list{2, 0, 1, 1, 0, 2, 1, 1, 3};
    const listed_groups groups(list);
    const auto size = static_cast<rank_t>(list.size());
    REQUIRE(!groups.check(size));
    CHECK(groups.groups(size) == 4);
    CHECK_FALSE(groups.are_intervals(size));
    for (rank_t r = 0; r != size; ++r) {
        const auto before = std::count(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(r), list[r]);
        CHECK(groups.group_of(size, r) == list[r]);
        CHECK(groups.place_of(size, r) == static_cast<rank_t>(before));
        CHECK(groups.member(size, list[r], groups.place_of(size, r)) == r);
        CHECK(groups.members(size, list[r]) == static_cast<rank_t>(std::count(list.begin(), list.end(), list[r])));
    }
    CHECK(groups.member(size, 0, 2) == no_rank);
    CHECK(groups == listed_groups(list));
    CHECK_FALSE(groups == listed_groups{{0, 1}});
    CHECK(listed_groups{{0, 0, 1}}.are_intervals(3));
    CHECK(listed_groups{}.check(0).code == errc::invalid_argument);
    CHECK(listed_groups{{0, no_rank}}.check(2).code == errc::invalid_argument);
}
