// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/walk.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace bough;

namespace {

template <rank_t Late, block_t Blocks>
constexpr auto hiding = [](rank_t size) {
    return plan_allreduce(late_rank_allreduce{.late = Late % size}, {.size = size, .blocks = Blocks});
};
static_assert(test::proven_for<hiding<0, 3>, 1, 2, 3, 5, 7, 8>());
static_assert(test::proven_for<hiding<4, 1>, 5, 7>());
static_assert(test::proven_for<hiding<1, 0>, 1, 5>());

std::uint32_t rounds_down_to_one(std::uint64_t p) {
    std::uint32_t q = 0;
    for (; p > 1; p = (p + 1) / 2) ++q;
    return q;
}

// From the arrival of the late rank until all have the result.
double after_arrival_ns(const model::alpha_beta_gamma& costs, rank_t p, rank_t late, block_t blocks,
                        std::uint64_t bytes) {
    constexpr std::uint64_t comes_ns = 1'000'000'000;
    std::vector<std::uint64_t> arrivals(p, 0);
    arrivals[late] = comes_ns;
    const auto plan = plan_allreduce(late_rank_allreduce{late}, {.size = p, .blocks = blocks});
    return model::walk(plan, model::arriving{costs, arrivals}, bytes).makespan_ns - comes_ns;
}

} // namespace

TEST_CASE("late_rank: proved for up to 64 ranks, whichever is late") {
    for (rank_t p = 1; p <= 64; ++p)
        for (const rank_t late : {rank_t{0}, p / 2, p - 1})
            for (const block_t blocks : {1u, 2u, 5u, 17u}) {
                const auto plan = plan_allreduce(late_rank_allreduce{late}, {.size = p, .blocks = blocks});
                const verdict v = verify(plan);
                CAPTURE(p, late, blocks);
                REQUIRE(v);
                CHECK(verify_claims(plan));
                CHECK(v.traits.volume == std::uint64_t{2} * (p - 1) * blocks);
                CHECK(v.traits.combines == std::uint64_t{p - 1} * blocks);
            }
}

TEST_CASE("late_rank: n + q rounds after the arrival, for every number of ranks and blocks") {
    const model::alpha_beta_gamma one_each{.alpha_ns = 1, .beta_ns_per_byte = 0, .gamma_ns_per_byte = 0};
    for (rank_t p = 2; p <= 64; ++p)
        for (const block_t n : {1u, 2u, 3u, 8u, 31u}) {
            CAPTURE(p, n);
            CHECK(after_arrival_ns(one_each, p, p / 3, n, n) == n + rounds_down_to_one(p));
        }
    // Beside StragglAR, with n = p - 1: 57, 108, 208 rounds.
    CHECK(after_arrival_ns(one_each, 48, 0, 47, 47) == 53);
    CHECK(after_arrival_ns(one_each, 96, 5, 95, 95) == 102);
    CHECK(after_arrival_ns(one_each, 192, 191, 191, 191) == 199);
}

TEST_CASE("late_rank: the formula is the walk, and beats what is there") {
    const model::alpha_beta_gamma costs{.alpha_ns = 3000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    for (const rank_t p : {8u, 24u}) {
        double best_ns = std::numeric_limits<double>::infinity();
        for (block_t n = 1; n <= 1024; n *= 2) {
            const std::uint64_t bytes = 64 << 20;
            const double formula = (n + rounds_down_to_one(p)) * (3000 + 0.1 * static_cast<double>(bytes) / n);
            const double walked = after_arrival_ns(costs, p, 2, n, bytes);
            CAPTURE(p, n);
            CHECK(walked == Approx(formula));
            best_ns = std::min(best_ns, walked);
        }
        std::vector<std::uint64_t> arrivals(p, 0);
        arrivals[2] = 1'000'000'000;
        const double usual_ns =
            model::walk(plan_allreduce(circulant{}, {.size = p}), model::arriving{costs, arrivals}, 64 << 20)
                .makespan_ns -
            1e9;
        CHECK(usual_ns / best_ns > 1.6);
    }
}

TEST_CASE("late_rank: no mutant passes") {
    CHECK(test::spoil(plan_allreduce(late_rank_allreduce{1}, {.size = 5, .blocks = 4})) > 100);
    CHECK(test::spoil(plan_allreduce(late_rank_allreduce{}, {.size = 4, .root = 3, .blocks = 3})) > 50);
    CHECK(test::spoil(plan_allreduce(late_rank_allreduce{0}, {.size = 2, .blocks = 3})) > 20);
}

TEST_CASE("late_rank: what it refuses, and what it is called") {
    const status bad = check_plan(late_rank_allreduce{5}, {.size = 5});
    CHECK(std::string(bad.argument) == "late: not a rank of the group");
    CHECK_FALSE(check_plan(late_rank_allreduce{}, {.size = 5}));
    CHECK(label_of(late_rank_allreduce{3}) == label("late_rank{.late = 3}"));
    CHECK(label_of(late_rank_allreduce{}) == label("late_rank"));
    // The root, if no rank is named.
    CHECK(plan_allreduce(late_rank_allreduce{}, {.size = 5, .root = 3, .blocks = 2}).schedule_of(1) ==
          plan_allreduce(late_rank_allreduce{3}, {.size = 5, .blocks = 2}).schedule_of(1));
}
