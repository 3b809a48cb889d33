// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/bruck.hpp>
#include <bough/algorithm/pairwise.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/walk.hpp>
#include <bough/verify/verify_claims.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr auto pairwise_of = [](rank_t size) { return plan_alltoall(pairwise_alltoall{}, {.size = size}); };
constexpr auto bruck_of = [](rank_t size) { return plan_alltoall(bruck_alltoall{}, {.size = size}); };
static_assert(test::proven_for<pairwise_of, 1, 2, 3, 4, 7, 8>());
constexpr auto two_ahead = [](rank_t size) { return plan_alltoall(pairwise_alltoall{.ahead = 2}, {.size = size}); };
static_assert(test::proven_for<two_ahead, 1, 2, 3, 4, 7, 8>());
constexpr auto in_base_3 = [](rank_t size) { return plan_alltoall(bruck_alltoall{.ports = 2}, {.size = size}); };
static_assert(test::proven_for<bruck_of, 1, 2, 3, 4, 7, 8>());
static_assert(test::proven_for<in_base_3, 1, 2, 3, 4, 7>());

static_assert(check_plan(bruck_alltoall{}, {.size = 3, .blocks = 3}));
static_assert(check_plan(pairwise_alltoall{}, {.size = 1u << 16}));
static_assert(!check_plan(pairwise_alltoall{}, {.size = 0xffff}));

template <Plan P>
plan_traits prove(const P& plan) {
    const claim_verdict found = verify_claims(plan);
    REQUIRE(found);
    REQUIRE(verify(plan, {.eager_slots = 2}));
    return found.proof.traits;
}

bool in_this_run(rank_t p) { return p <= 24 || bough_test::sampled(p, 6); }

} // namespace

TEST_CASE("families: pairwise and bruck have an alltoall, recursive doubling the scans") {
    for (const rank_t size : {1u, 2u, 7u, 8u}) {
        const dimensions at{.size = size};
        CHECK(plan_alltoall(pairwise{}, at) == plan_alltoall(pairwise_alltoall{}, at));
        CHECK(plan_reduce_scatter(pairwise{}, at) == plan_reduce_scatter(pairwise_reduce_scatter{}, at));
        CHECK(plan_alltoall(bruck{}, at) == plan_alltoall(bruck_alltoall{}, at));
        CHECK(plan_allgather(bruck{.ports = 2}, at) == plan_allgather(bruck_allgather{.ports = 2}, at));
        CHECK(plan_scan(recursive_doubling{}, at) == plan_scan(recursive_doubling_scan{}, at));
        CHECK(plan_exscan(recursive_doubling{}, at) == plan_exscan(recursive_doubling_exscan{}, at));
    }
    CHECK(check_plan(bruck{.ports = 0}.algorithm_for(goal::alltoall{}), {.size = 7}).code == errc::invalid_argument);
    CHECK_FALSE(label_of(bruck_alltoall{.ports = 2}) == label_of(bruck_alltoall{}));
}

TEST_CASE("pairwise alltoall: p - 1 rounds, every block once") {
    for (rank_t p = 1; p <= 64; ++p) {
        if (!in_this_run(p)) continue;
        CAPTURE(p);
        const auto plan = plan_alltoall(pairwise_alltoall{}, {.size = p, .root = p - 1});
        const plan_traits traits = prove(plan);
        CHECK(test::rounds_in_order(plan) == p - 1);
        CHECK(traits.rounds == p - 1);
        CHECK(traits.volume == std::uint64_t{p} * (p - 1));
        CHECK(traits.volume_max == p - 1);
        CHECK(traits.scratch_max == 0);
        CHECK(traits.hops <= 1);
    }
}

TEST_CASE("pairwise alltoall: with sends ahead the messages are the same ones, and the waits fewer") {
    for (const rank_t p : {1u, 2u, 3u, 4u, 7u, 8u, 13u, 16u}) {
        const dimensions at{.size = p};
        const model::loggops far{.message_latency_ns = 1000, .overhead = {10, 0}};
        const auto price = [&](const auto& plan) { return model::walk(plan, far, p * p * 8).makespan_ns; };
        const auto in_turn = plan_alltoall(pairwise_alltoall{}, at);
        double before = price(in_turn);
        for (const rank_t ahead : {1u, 2u, p - 2, p - 1, p, no_rank}) {
            if (p < 3 && ahead > p) continue;
            CAPTURE(p, ahead);
            const auto plan = plan_alltoall(pairwise_alltoall{.ahead = ahead}, at);
            const plan_traits traits = prove(plan), usual = prove(in_turn);
            CHECK(traits.volume == usual.volume);
            CHECK(traits.messages == usual.messages);
            CHECK(traits.scratch_max == 0);
            const double now = price(plan);
            CHECK(now <= before);
            if (p >= 3 && ahead + 2 >= p)
                CHECK(now == 10.0 * (p - 1) + 1000 + 10); // the last of its sends, its way, its receive
            before = now;
        }
    }
    // All sends, then all receives, of rank 2 of 5: to 3 4 0 1, from 1 0 4 3.
    const auto schedule = plan_alltoall(pairwise_alltoall{.ahead = 3}, {.size = 5}).schedule_of(2);
    std::vector<rank_t> sent, received;
    for (const step& s : schedule) {
        if (s.verb == verb::send) {
            CHECK(received.empty());
            sent.push_back(s.peer);
        }
        if (s.verb == verb::receive) received.push_back(s.peer);
    }
    CHECK(sent == std::vector<rank_t>{3, 4, 0, 1});
    CHECK(received == std::vector<rank_t>{1, 0, 4, 3});
    CHECK(label_of(pairwise_alltoall{.ahead = 3}).c_str() == std::string("pairwise_alltoall{.ahead = 3}"));
}

TEST_CASE("Bruck's alltoall: ceil(log2 p) rounds; a block travels once for each digit 1 of its distance") {
    for (rank_t p = 1; p <= 64; ++p) {
        if (!in_this_run(p)) continue;
        CAPTURE(p);
        const auto plan = plan_alltoall(bruck_alltoall{}, {.size = p});
        const plan_traits traits = prove(plan);
        std::uint32_t q = 0;
        while ((rank_t{1} << q) < p) ++q;
        std::uint64_t moves = 0;
        for (rank_t distance = 1; distance < p; ++distance)
            for (rank_t digits = distance; digits != 0; digits /= 2) moves += digits % 2;
        const std::uint64_t rests = moves - (p - 1); // the last move of each block ends in the output
        CHECK(test::rounds_in_order(plan) == q);
        CHECK(traits.rounds == q);
        CHECK(traits.messages == std::uint64_t{p} * q);
        CHECK(traits.volume == p * moves);
        CHECK(traits.volume_max == moves);
        CHECK(traits.scratch_max == rests);
        CHECK(plan.scratch(p / 2) == rests);
    }
}

TEST_CASE(
    "Bruck's alltoall in any radix: a message for each digit that there is, a block for each digit that is not 0") {
    for (rank_t p = 1; p <= 64; ++p)
        for (const rank_t ports : {2u, 3u, 4u, 6u, 15u, 40u, 0xffff'ffffu}) {
            if (!in_this_run(p) && p != 64) continue;
            CAPTURE(p, ports);
            const auto plan = plan_alltoall(bruck_alltoall{ports}, {.size = p});
            const plan_traits traits = prove(plan);
            const std::uint64_t radix = std::uint64_t{ports} + 1;
            std::uint32_t messages = 0, digits = 0;
            for (std::uint64_t weight = 1; weight < p; weight *= radix, ++digits)
                for (std::uint64_t d = weight; d < weight * radix && d < p; d += weight) ++messages;
            std::uint64_t moves = 0;
            for (rank_t distance = 1; distance < p; ++distance)
                for (std::uint64_t left = distance; left != 0; left /= radix) moves += left % radix != 0;
            CHECK(traits.messages == std::uint64_t{p} * messages);
            CHECK(traits.volume_max == moves);
            CHECK(traits.scratch_max == moves - (p - 1));
            CHECK(plan.scratch(0) == moves - (p - 1));
            CHECK(traits.hops <= digits);
            if (ports >= p - 1) CHECK((traits.hops <= 1 && traits.scratch_max == 0));
        }
}

TEST_CASE("Bruck's messages have no more parts than sources and arrivals make necessary") {
    for (const rank_t p : {2u, 5u, 8u, 13u, 32u, 33u}) {
        CAPTURE(p);
        const auto plan = plan_alltoall(bruck_alltoall{}, {.size = p});
        for (rank_t r = 0; r != p; ++r) {
            const schedule steps = plan.schedule_of(r);
            step_counts counts;
            for (const step& s : steps) push_step(counts, s);
            // Two for each source of a message and one where the row ends: both ways at most 2 (2 p + log2 p).
            CHECK(counts.parts + counts.sends + counts.receives <= 4 * std::size_t{p} + 2 * std::bit_width(p));
            // Adjoining parts with the same ends would be one.
            for (std::size_t i = 1; i < steps.size(); ++i) {
                const step& a = steps[i - 1];
                const step& b = steps[i];
                if (!a.more || a.verb != verb::receive) continue;
                CHECK_FALSE((a.out.buffer == b.out.buffer && a.out.last() == b.out.first));
            }
        }
    }
}

TEST_CASE("no mutant of an alltoall passes for it") {
    for (const rank_t p : {2u, 3u, 4u, 5u, 7u}) {
        CAPTURE(p);
        CHECK(test::spoil(plan_alltoall(pairwise_alltoall{}, {.size = p})) != 0);
        CHECK(test::spoil(plan_alltoall(bruck_alltoall{}, {.size = p})) != 0);
        CHECK(test::spoil(plan_alltoall(bruck_alltoall{.ports = 2}, {.size = p})) != 0);
    }
}
