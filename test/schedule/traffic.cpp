// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/detail/skips.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/schedule/traffic.hpp>

#include <cstdint>

using namespace bough;

namespace {

constexpr auto by_four = [](rank_t r) { return r / 4; };
constexpr auto parity = [](rank_t r) { return r % 2 == 0; };

// Recursive doubling over 8 ranks: distances 1 and 2 stay in groups of 4, distance 4 crosses; a round is 8 messages.
constexpr auto doubling = plan_allreduce(recursive_doubling{}, {.size = 8, .blocks = 3});
static_assert(traffic(doubling, by_four) == group_traffic{.within = {16, 48}, .across = {8, 24}});
static_assert(traffic(doubling, parity) == group_traffic{.within = {16, 48}, .across = {8, 24}});
static_assert(traffic(doubling, [](rank_t) { return 0; }) == group_traffic{.within = {24, 72}, .across = {}});

// A message in parts is one message.
constexpr auto parts = plan_reduce_scatter(lowest_bit_first{}, {.size = 8});
static_assert(traffic(parts, by_four).within.messages + traffic(parts, by_four).across.messages == 8 * 3);
static_assert(traffic(parts, by_four).within.blocks + traffic(parts, by_four).across.blocks == 8 * 7);

// How many of p ranks have a peer in another group at this distance.
std::uint64_t crossing(rank_t p, rank_t group, std::uint64_t distance) {
    std::uint64_t count = 0;
    for (rank_t r = 0; r != p; ++r) count += r / group != (r + distance) % p / group ? 1u : 0u;
    return count;
}
std::uint64_t of_ring(rank_t p, rank_t group) { return crossing(p, group, 1) * (p - 1); }
std::uint64_t of_circulant(rank_t p, rank_t group) {
    std::uint64_t blocks = 0;
    for (rank_t wide = p; wide > 1; wide = (wide + 1) / 2) {
        const rank_t narrow = (wide + 1) / 2;
        blocks += (wide - narrow) * crossing(p, group, narrow);
    }
    return blocks;
}
std::uint64_t of_lowest_bit_first(rank_t p, rank_t group) {
    std::uint64_t blocks = 0;
    for (rank_t offset = 1; offset != p; ++offset) {
        rank_t lowest = 1;
        while (offset / lowest % 2 == 0) lowest *= 2;
        blocks += crossing(p, group, lowest);
    }
    return blocks;
}

} // namespace

TEST_CASE("traffic over the borders of groups: a second count, by distances") {
    for (const rank_t p : {16u, 37u, 48u, 100u})
        for (const rank_t group : {1u, 4u, 16u, 100u}) {
            CAPTURE(p, group);
            const auto group_of = [=](rank_t r) { return r / group; };
            const auto across = [&](const auto& choice) {
                const group_traffic there = traffic(plan_allgather(choice, {.size = p}), group_of);
                const group_traffic back = traffic(plan_reduce_scatter(choice, {.size = p}), group_of);
                CHECK(there.across.blocks + there.within.blocks == std::uint64_t{p} * (p - 1));
                CHECK(there == back); // what goes one way in the one comes back in the other
                CHECK(traffic(plan_allreduce(choice, {.size = p}), group_of).across.blocks == 2 * there.across.blocks);
                return there.across.blocks;
            };
            CHECK(across(ring{}) == of_ring(p, group));
            CHECK(across(circulant{}) == of_circulant(p, group));
            CHECK(across(lowest_bit_first{}) == of_lowest_bit_first(p, group));
        }
}

TEST_CASE("traffic over the borders of groups of 16: lowest bit first sends a fifth of what the circulant sends") {
    const auto node = [](rank_t r) { return r / 16; };
    const auto vectors = [&](const auto& choice, rank_t p) {
        return static_cast<double>(traffic(plan_reduce_scatter(choice, {.size = p}), node).across.blocks) / p;
    };
    CHECK(vectors(circulant{}, 1024) == Approx(1013.3125));
    CHECK(vectors(lowest_bit_first{}, 1024) == 191);
    CHECK(vectors(ring{}, 1024) == 63.9375);
    CHECK(vectors(circulant{}, 1000) == Approx(989.355));
    CHECK(vectors(lowest_bit_first{}, 1000) == Approx(187.748));
}
