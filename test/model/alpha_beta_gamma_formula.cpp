// SPDX-License-Identifier: BSL-1.0
// The paper's closed formulas against the walk of the schedules, for all p up to 64; where they overcharge, by how much.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/halving_gather.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma_formula.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/binomial.hpp>

#include <bit>
#include <vector>

namespace {

using namespace bough::model;
using bough::rank_t;

// Networks of every kind: full duplex, simplex, between; where each of the three terms rules.
const std::vector<alpha_beta_gamma> networks{
    {.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25},
    {.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25, .f_alpha = 0.5, .f_beta = 0.5},
    {.alpha_ns = 3000, .beta_ns_per_byte = 0.5, .gamma_ns_per_byte = 2, .f_alpha = 0.75, .f_beta = 0.625},
    {.alpha_ns = 0, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0, .f_alpha = 1, .f_beta = 0.5},
    {.alpha_ns = 7, .beta_ns_per_byte = 0.125, .gamma_ns_per_byte = 4, .f_alpha = 0.5, .f_beta = 1},
};

// Sizes that the plan's blocks divide.
template <class Plan>
std::vector<std::uint64_t> sizes_for(const Plan& plan) {
    return {0, plan.blocks() * std::uint64_t{8}, plan.blocks() * std::uint64_t{1000}};
}

template <class PlanOf, class Check>
void for_all(const PlanOf& plan_of, const Check& check) {
    for (rank_t p = 1; p <= 64; ++p) {
        const auto plan = plan_of(p);
        for (const alpha_beta_gamma& m : networks)
            for (const std::uint64_t bytes : sizes_for(plan)) {
                CAPTURE(p, bytes, m.alpha_ns, m.f_alpha, m.f_beta);
                check(p, m, bytes, walk(plan, m, bytes).makespan_ns);
            }
    }
}
template <class PlanOf, class Formula>
void check_equal(const PlanOf& plan_of, const Formula& formula) {
    for_all(plan_of, [&](rank_t p, const alpha_beta_gamma& m, std::uint64_t bytes, double walked) {
        REQUIRE(walked == Approx(formula(m, p, bytes)).epsilon(1e-12));
    });
}
template <class PlanOf, class Formula>
void check_overcharged_by_one_way(const PlanOf& plan_of, const Formula& formula) {
    for_all(plan_of, [&](rank_t p, const alpha_beta_gamma& m, std::uint64_t bytes, double walked) {
        const double too_much = std::has_single_bit(p) ? 0 : one_way_discount_ns(m, bytes);
        REQUIRE(walked + too_much == Approx(formula(m, p, bytes)).epsilon(1e-12));
    });
}

// At compile time, in whole microseconds: 8 KiB among 4 ranks, alpha 4 us, beta 1/1.024 us per KiB.
constexpr alpha_beta_gamma even{.alpha_ns = 4096, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.5};
static_assert(tree_reduce_ns(even, 4, 8192) == 2 * (4096 + 8192 + 4096));
static_assert(tree_allreduce_ns(even, 5, 8192) == 3 * (2 * 4096 + 2 * 8192 + 4096));
static_assert(recursive_doubling_allreduce_ns(even, 4, 8192) == 2 * (4096 + 8192 + 4096));
static_assert(halving_doubling_allreduce_ns(even, 4, 8192) == 4 * 4096 + 2 * 6144 + 3072);
static_assert(ring_allreduce_ns(even, 4, 8192) == 6 * 4096 + 2 * 6144 + 3072);
static_assert(circulant_allreduce_ns(even, 4, 8192) == halving_doubling_allreduce_ns(even, 4, 8192));
static_assert(ring_reduce_ns(even, 4, 8192) == ring_allreduce_ns(even, 4, 8192));
static_assert(tree_allreduce_ns(even, 1, 8192) == 0 && ring_allreduce_ns(even, 1, 8192) == 0 &&
              halving_doubling_allreduce_ns(even, 1, 8192) == 0 && halving_gather_reduce_ns(even, 1, 8192) == 0);

} // namespace

TEST_CASE("2.3 binary tree: the formula is the time of the walk") {
    const bough::binomial tree;
    check_equal([&](rank_t p) { return bough::plan_reduce(tree, {.size = p, .root = p / 3}); }, tree_reduce_ns);
    check_equal([&](rank_t p) { return bough::plan_broadcast(tree, {.size = p, .root = p / 2}); }, tree_broadcast_ns);
    check_equal([&](rank_t p) { return bough::plan_allreduce(tree, {.size = p}); }, tree_allreduce_ns);
}

TEST_CASE("2.3 binary tree: messages that land early save what overlaps, and never cost") {
    bool saves = false;
    for_all([](rank_t p) { return bough::plan_reduce(bough::binomial{}, {.size = p}); },
            [&](rank_t p, alpha_beta_gamma m, std::uint64_t bytes, double walked) {
                m.early = true;
                const double early = walk(bough::plan_reduce(bough::binomial{}, {.size = p}), m, bytes).makespan_ns;
                REQUIRE(early <= walked * (1 + 1e-12));
                saves = saves || early < 0.9 * walked;
                if (std::has_single_bit(p)) REQUIRE(early == Approx(walked));
            });
    CHECK(saves);
}

TEST_CASE("2.4 recursive doubling: the formula prices the fold as half of an exchange") {
    check_overcharged_by_one_way(
        [](rank_t p) { return bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}); },
        recursive_doubling_allreduce_ns);
}

TEST_CASE("2.5 halving and doubling, allreduce: the formula prices the last transfer as half of an exchange") {
    check_overcharged_by_one_way(
        [](rank_t p) { return bough::plan_allreduce(bough::halving_doubling_allreduce{}, {.size = p}); },
        halving_doubling_allreduce_ns);
}

TEST_CASE("2.5 halving and doubling, reduce: the formula is the time of the walk, wherever the root is") {
    for (const rank_t third : {0u, 1u, 2u, 3u})
        check_equal(
            [&](rank_t p) {
                return bough::plan_reduce(bough::halving_gather{}, {.size = p, .root = (p - 1) * third / 3});
            },
            halving_gather_reduce_ns);
}

TEST_CASE("2.7 ring: the formula is the time of the walk") {
    check_equal([](rank_t p) { return bough::plan_reduce_scatter(bough::ring{}, {.size = p}); },
                ring_reduce_scatter_ns);
    check_equal([](rank_t p) { return bough::plan_allgather(bough::ring{}, {.size = p}); }, ring_allgather_ns);
    check_equal([](rank_t p) { return bough::plan_allreduce(bough::ring{}, {.size = p}); }, ring_allreduce_ns);
}

// In rank order, a rank whose higher neighbours came first has a partial result more: it sends late once.
TEST_CASE("2.7 pairwise exchange in rank order costs at most one combine of a block more than the formula") {
    bool equal = false, above = false;
    for_all([](rank_t p) { return bough::plan_reduce_scatter(bough::pairwise_reduce_scatter{}, {.size = p}); },
            [&](rank_t p, const alpha_beta_gamma& m, std::uint64_t bytes, double walked) {
                const double formula = ring_reduce_scatter_ns(m, p, bytes);
                REQUIRE(walked >= formula * (1 - 1e-12));
                REQUIRE(walked <= (formula + m.combine_ns(0, bytes / p)) * (1 + 1e-12));
                equal = equal || walked <= formula * (1 + 1e-12);
                above = above || walked > formula * (1 + 1e-12);
            });
    CHECK(equal);
    CHECK(above);
}
