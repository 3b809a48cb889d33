// SPDX-License-Identifier: BSL-1.0
// Closed formulas of algorithms newer than the paper, against the walk of the schedules.
#include "support/catch.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/best_levels.hpp>
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/algorithm/pipelined_blocks.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/model/alpha_beta_gamma_formula.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>

#include <bit>
#include <vector>

namespace {

using namespace bough::model;
using bough::rank_t;

const std::vector<alpha_beta_gamma> networks{
    {.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25},
    {.alpha_ns = 3000, .beta_ns_per_byte = 0.5, .gamma_ns_per_byte = 2},
    {.alpha_ns = 0, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0},
};

template <class PlanOf, class Check>
void for_all(const PlanOf& plan_of, const Check& check) {
    for (rank_t p = 1; p <= 64; ++p) {
        const auto plan = plan_of(p);
        for (const alpha_beta_gamma& m : networks)
            for (const std::uint64_t block : {0u, 8u, 1000u}) {
                CAPTURE(p, block, m.alpha_ns);
                check(p, m, block * plan.blocks(), walk(plan, m, block * plan.blocks()).makespan_ns);
            }
    }
}
// `duplex_only`: all messages are halves of exchanges, so simplex networks take the same.
template <class PlanOf, class Formula>
void check_equal(const PlanOf& plan_of, const Formula& formula, bool duplex_only = true) {
    for_all(plan_of, [&](rank_t p, alpha_beta_gamma m, std::uint64_t bytes, double walked) {
        REQUIRE(walked == Approx(formula(m, p, bytes)).epsilon(1e-12));
        if (!duplex_only) return;
        m.f_alpha = 0.5, m.f_beta = 0.5;
        REQUIRE(walk(plan_of(p), m, bytes).makespan_ns == Approx(walked).epsilon(1e-12));
    });
}

// The levels of a plan, priced one by one.
double levels_ns(const alpha_beta_gamma& m, const bough::level_list& levels, std::uint64_t bytes) {
    double ns = 0;
    for (const bough::level& l : levels) {
        ns += level_allreduce_ns(m, l.radix, l.eliminated != 0, bytes);
        bytes /= l.radix;
    }
    return ns;
}

static_assert(pipeline_ns({.alpha_ns = 10, .beta_ns_per_byte = 1}, 3, 100, 5) == 7 * 30);
static_assert(level_allreduce_ns({.alpha_ns = 10, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 2}, 2, true, 100) ==
              4 * 10 + 2 * 100 + 200);

} // namespace

TEST_CASE("circulant: q rounds and p - 1 blocks, to the nanosecond, for every p") {
    check_equal([](rank_t p) { return bough::plan_reduce_scatter(bough::circulant{}, {.size = p}); },
                circulant_reduce_scatter_ns);
    check_equal([](rank_t p) { return bough::plan_allgather(bough::circulant{}, {.size = p}); },
                circulant_allgather_ns);
    check_equal([](rank_t p) { return bough::plan_allreduce(bough::circulant{}, {.size = p}); },
                circulant_allreduce_ns);
}

TEST_CASE("lowest_bit_first and Bruck: as circulant") {
    check_equal([](rank_t p) { return bough::plan_reduce_scatter(bough::lowest_bit_first{}, {.size = p}); },
                circulant_reduce_scatter_ns);
    check_equal([](rank_t p) { return bough::plan_allgather(bough::lowest_bit_first{}, {.size = p}); },
                circulant_allgather_ns);
    check_equal([](rank_t p) { return bough::plan_allreduce(bough::lowest_bit_first{}, {.size = p}); },
                circulant_allreduce_ns);
    check_equal([](rank_t p) { return bough::plan_allgather(bough::bruck_allgather{}, {.size = p}); },
                circulant_allgather_ns);
}

TEST_CASE("n-block broadcast: n - 1 + q rounds, for every p and n") {
    for (const std::uint32_t n : {1u, 2u, 3u, 5u, 8u, 17u})
        check_equal(
            [&](rank_t p) {
                return bough::plan_broadcast(bough::circulant_broadcast{}, {.size = p, .root = p / 3, .blocks = n});
            },
            [&](const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
                return circulant_broadcast_ns(m, p, bytes, n);
            },
            false);
}

TEST_CASE("pipelined chain: n + p - 2 steps") {
    for (const std::uint32_t n : {1u, 2u, 5u, 16u})
        check_equal([&](rank_t p) { return bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = n}); },
                    [&](const alpha_beta_gamma& m, rank_t p, std::uint64_t bytes) {
                        return chain_broadcast_ns(m, p, bytes, n);
                    },
                    false);
}

TEST_CASE("the best number of blocks: no other is better, and the continuous optimum is below it by a little") {
    const alpha_beta_gamma m = networks[0];
    for (const rank_t p : {3u, 5u, 8u, 24u, 63u})
        for (const std::uint64_t bytes : {std::uint64_t{1} << 10, std::uint64_t{1} << 16, std::uint64_t{1} << 20}) {
            const auto q = static_cast<rank_t>(std::bit_width(p - 1));
            const auto n = bough::pipelined_blocks(q - 1, m.alpha_ns, m.beta_ns_per_byte, bytes, 1u << 16);
            const double best = pipeline_ns(m, q, bytes, n);
            CAPTURE(p, bytes, n);
            for (std::uint64_t other = 1; other <= 4u * n + 4; ++other)
                REQUIRE(best <= pipeline_ns(m, q, bytes, other) * (1 + 1e-12));
            REQUIRE(best_pipeline_ns(m, q, bytes) <= best * (1 + 1e-12));
            if (n > 3) REQUIRE(best <= 1.02 * best_pipeline_ns(m, q, bytes));
            // The walk cuts bytes that n does not divide into unequal blocks: a byte more in every round at most.
            const double walked =
                walk(bough::plan_broadcast(bough::circulant_broadcast{}, {.size = p, .blocks = n}), m, bytes)
                    .makespan_ns;
            REQUIRE(walked >= best - 1e-6);
            REQUIRE(walked <= best + (n - 1 + q) * m.beta_ns_per_byte);
        }
}

TEST_CASE("scatter + allgather: equal for powers of two, else no more") {
    const auto plan_of = [](rank_t p) {
        return bough::plan_broadcast(
            bough::scatter_allgather{bough::tree_scatter{bough::binomial{}}, bough::circulant_allgather{}},
            {.size = p});
    };
    for_all(plan_of, [&](rank_t p, const alpha_beta_gamma& m, std::uint64_t bytes, double walked) {
        REQUIRE(walked <= scatter_allgather_broadcast_ns(m, p, bytes) * (1 + 1e-12));
        REQUIRE(walked >=
                (std::has_single_bit(p) ? 1 : 0.9) * scatter_allgather_broadcast_ns(m, p, bytes) * (1 - 1e-12));
    });
}

TEST_CASE("per level: the levels' prices add up, as walked and as the choice by dynamic programming has them") {
    for (const alpha_beta_gamma& m : networks)
        for (rank_t p = 1; p <= 64; ++p)
            for (const std::uint64_t target : {64u, 8192u, 1u << 20}) {
                const bough::level_costs costs{m.alpha_ns, m.beta_ns_per_byte, m.gamma_ns_per_byte};
                const auto levels = bough::best_levels(p, costs, static_cast<double>(target), {.exchange = false});
                bool folds = false;
                for (const bough::level& l : levels) folds = folds || l.radix == 1;
                const std::uint64_t bytes = (target / levels.parts() + 1) * levels.parts();
                const auto plan = bough::plan_allreduce(bough::per_level{.levels = levels}, {.size = p});
                CAPTURE(p, target, m.alpha_ns);
                const double walked = walk(plan, m, bytes).makespan_ns;
                const double priced = bough::detail::price_levels(levels, costs, static_cast<double>(bytes));
                REQUIRE(walked == Approx(priced).epsilon(1e-12));
                if (!folds) REQUIRE(walked == Approx(levels_ns(m, levels, bytes)).epsilon(1e-12));
            }
}
