// SPDX-License-Identifier: BSL-1.0
// Binary blocks: proofs, counts derived from the blocks alone, and the messages of 7 ranks by hand.
#include "blocks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/binary_blocks.hpp>
#include <bough/algorithm/halving_doubling.hpp>

#include <bit>
#include <cstdint>
#include <string>

using namespace bough;
using test::messages_of;

namespace {

// What all ranks send and combine, in vectors of `m` blocks: block by block.
struct sums {
    std::uint64_t up = 0, back = 0, combined = 0;
};
sums sums_of(rank_t size) {
    const std::uint64_t m = std::bit_floor(size);
    sums all;
    for (rank_t left = size; left != 0; left -= std::bit_floor(left)) {
        const std::uint64_t n = std::bit_floor(left);
        all.up += m * (n - 1); // n ranks, each (1 - 1/n) m
        all.back += m * (n - 1);
        all.combined += m * (n - 1);
        if (left != size) { // one vector goes up to the next larger block, and comes back as pairs of halves
            all.up += m;
            all.combined += m;
            all.back += m;
        }
    }
    return all;
}

} // namespace

TEST_CASE("binary blocks: 7 ranks are 4, 2 and 1") {
    const auto plan = plan_allreduce(binary_blocks{}, {.size = 7});
    CHECK(plan.blocks() == 4);
    CHECK(messages_of(plan.schedule_of(6)) == ">4 AB, >5 CD, <4 AB, <5 CD");
    CHECK(messages_of(plan.schedule_of(4)) == ">5 CD, <5 AB, <6 AB, >0 A, >2 B, <0 A, <2 B, >6 AB, >5 AB, <5 CD");
    CHECK(messages_of(plan.schedule_of(5)) == ">4 AB, <4 CD, <6 CD, >1 C, >3 D, <1 C, <3 D, >6 CD, >4 CD, <4 AB");
    CHECK(messages_of(plan.schedule_of(3)) == ">2 AB, <2 CD, >1 C, <1 D, <5 D, >5 D, >1 D, <1 C, >2 CD, <2 AB");
    const auto to_five = plan_reduce(binary_blocks{}, {.size = 7, .root = 5});
    CHECK(messages_of(to_five.schedule_of(0)) == ">1 CD, <1 AB, >2 B, <2 A, <4 A, >5 A");
    CHECK(messages_of(to_five.schedule_of(5)) == ">4 AB, <4 CD, <6 CD, >1 C, >3 D, <0 A, <2 B, <1 CD");
}

TEST_CASE("binary blocks: proofs, volume and combines of all ranks; the same bracket at any root") {
    for (rank_t p = 1; p <= 300; ++p) {
        const bool kept = p <= 17 || (p <= 64 && bough_test::sampled(p, 6)) ||
                          bough_test::mixed(bough_test::seed() ^ p) % (bough_test::all() ? 12 : 120) == 0;
        if (!kept) continue;
        CAPTURE(p);
        const sums expected = sums_of(p);
        const plan_traits all = test::prove(plan_allreduce(binary_blocks{}, {.size = p}));
        CHECK(all.volume == expected.up + expected.back);
        CHECK(all.combines == expected.combined);
        CHECK((!all.needs_commutative && all.position_invariant && all.rank_consistent));
        if (std::has_single_bit(p))
            for (rank_t r = 0; r != p; ++r) {
                const dimensions at{.size = p};
                CHECK(messages_of(plan_allreduce(binary_blocks{}, at).schedule_of(r)) ==
                      messages_of(plan_allreduce(halving_doubling{}, at).schedule_of(r)));
            }
        for (rank_t root = 0; root != p; ++root) {
            if (root != 0 && root != p - 1 && (p > 40 ? root != p / 2 : !bough_test::sampled(root, 1 + p / 4)))
                continue;
            CAPTURE(root);
            const plan_traits one = test::prove(plan_reduce(binary_blocks{}, {.size = p, .root = root}));
            const std::uint64_t m = std::bit_floor(p);
            const std::uint64_t log = std::bit_width(m) - 1u;
            CHECK(one.volume == expected.up + m / 2 * log + (root >= m ? 1 : 0));
            CHECK(one.combines == expected.combined);
            CHECK(one.bracket == all.bracket);
        }
    }
}

TEST_CASE("binary blocks: any number of blocks") {
    std::uint64_t number = 0;
    for (rank_t p = 1; p <= 40; ++p)
        for (const block_t blocks : {0u, 1u, 2u, 3u, p, p + 1, 101u}) {
            if (!bough_test::sampled(++number, 6)) continue;
            CAPTURE(p, blocks);
            CHECK(verify(plan_allreduce(binary_blocks{}, {.size = p, .blocks = blocks})));
            CHECK(verify(plan_reduce(binary_blocks{}, {.size = p, .root = p - 1, .blocks = blocks})));
        }
}
