// SPDX-License-Identifier: BSL-1.0
// Recursive halving and doubling: Fig. 1 of Rabenseifner 2004, its formulas against the schedules, and one bracket for all.
#include "blocks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/halving_doubling.hpp>

#include <bit>
#include <cstdint>
#include <string>

using namespace bough;
using test::messages_of;

namespace {

// Sizes of a sweep: all up to 64, some beyond.
template <class F>
void for_each_size(F f) {
    for (rank_t p = 1; p <= 64; ++p)
        if (p <= 17 || bough_test::sampled(p, 6)) f(p);
    for (rank_t p = 65; p <= 300; ++p)
        if (bough_test::mixed(bough_test::seed() ^ p) % (bough_test::all() ? 12 : 120) == 0) f(p);
}

} // namespace

// The first ten ranks fold onto the even ones; 0 2 4 6 8 10 11 12 are then 0' to 7'.
TEST_CASE("halving and doubling: 13 ranks, as in Fig. 1") {
    const auto plan = plan_allreduce(halving_doubling{}, {.size = 13});
    CHECK(plan.blocks() == 8);
    CHECK(messages_of(plan.schedule_of(0)) == ">1 EFGH, <1 ABCD, <1 EFGH, "                  // the fold
                                              ">2 EFGH, <2 ABCD, >4 CD, <4 AB, >8 B, <8 A, " // halving
                                              ">8 A, <8 B, >4 AB, <4 CD, >2 ABCD, <2 EFGH, " // doubling
                                              ">1 ABCDEFGH");                                // to who has left
    CHECK(messages_of(plan.schedule_of(1)) == ">0 ABCD, <0 EFGH, >0 EFGH, <0 ABCDEFGH");
    CHECK(messages_of(plan.schedule_of(2)) == ">3 EFGH, <3 ABCD, <3 EFGH, "
                                              ">0 ABCD, <0 EFGH, >6 GH, <6 EF, >10 F, <10 E, "
                                              ">10 E, <10 F, >6 EF, <6 GH, >0 EFGH, <0 ABCD, >3 ABCDEFGH");
    CHECK(messages_of(plan.schedule_of(9)) == ">8 ABCD, <8 EFGH, >8 EFGH, <8 ABCDEFGH");
    CHECK(messages_of(plan.schedule_of(10)) == ">8 ABCD, <8 EFGH, >12 GH, <12 EF, >2 E, <2 F, "
                                               ">2 F, <2 E, >12 EF, <12 GH, >8 EFGH, <8 ABCD");
    CHECK(messages_of(plan.schedule_of(12)) == ">11 ABCD, <11 EFGH, >10 EF, <10 GH, >6 G, <6 H, "
                                               ">6 H, <6 G, >10 GH, <10 EF, >11 EFGH, <11 ABCD");
    // The first combines: P0 has A-D of the ranks 0-1, P1 E-H.
    CHECK(plan.schedule_of(0)[2] == combine_step({input, 0, 4}, {scratch(0), 0, 4}, {output, 0, 4}));
    CHECK(plan.schedule_of(1)[2] == combine_step({scratch(0), 4, 4}, {input, 4, 4}, {scratch(0), 4, 4}));
}

// The root 3 would leave; 2 leaves in its place.
TEST_CASE("halving and gather: a root changes roles with its partner, at no cost") {
    const auto plan = plan_reduce(halving_doubling{}, {.size = 7, .root = 3});
    CHECK(messages_of(plan.schedule_of(3)) == ">2 AB, <2 CD, <2 AB, >0 AB, <0 CD, >6 D, <6 C, <6 D, <0 AB");
    CHECK(messages_of(plan.schedule_of(2)) == ">3 CD, <3 AB, >3 AB");
    for (const rank_t p : {3u, 7u, 13u, 24u}) {
        const plan_traits of_first = verify(plan_reduce(halving_doubling{}, {.size = p})).traits;
        for (rank_t root = 1; root != p; ++root) {
            const plan_traits of_root = verify(plan_reduce(halving_doubling{}, {.size = p, .root = root})).traits;
            CHECK(of_root.rounds == of_first.rounds);
            CHECK(of_root.volume == of_first.volume);
            CHECK(of_root.bracket == of_first.bracket);
        }
    }
}

TEST_CASE("halving and doubling: proofs, rounds, volume and combines by the paper's formulas") {
    for_each_size([](rank_t p) {
        CAPTURE(p);
        const rank_t power = std::bit_floor(p);
        const std::uint64_t log = std::bit_width(power) - 1u;
        const std::uint64_t removed = p - power;
        const std::uint64_t m = power; // the vector, in blocks
        const plan_traits all = test::prove(plan_allreduce(halving_doubling{}, {.size = p}));
        CHECK(all.rounds == 2 * log + (removed != 0 ? 3 : 0));
        // Those who fold send half and combine half; who leaves sends its half, who stays sends m in the end.
        CHECK(all.volume == 2 * m * (m - 1) + removed * 5 * m / 2);
        CHECK(all.volume_max == 2 * (m - 1) + (removed != 0 ? m / 2 + m : 0));
        CHECK(all.combines == m * (m - 1) + removed * m);
        CHECK(all.combines_max == m - 1 + (removed != 0 ? m / 2 : 0));
        CHECK((all.position_invariant && all.rank_consistent && !all.needs_commutative));
        // The latency-optimal allreduce of the same bits.
        const plan_traits whole = test::prove(plan_allreduce(recursive_doubling{}, {.size = p}));
        CHECK(whole.bracket == all.bracket);
        CHECK(whole.rounds == log + (removed != 0 ? 2 : 0));

        for (rank_t root = 0; root != p; ++root) {
            if (root != 0 && root != p - 1 && (p > 40 ? root != p / 2 : !bough_test::sampled(root, 1 + p / 4)))
                continue;
            CAPTURE(root);
            const plan_traits one = test::prove(plan_reduce(halving_doubling{}, {.size = p, .root = root}));
            CHECK(one.rounds == 2 * log + (removed != 0 ? 2 : 0));
            CHECK(one.volume == m * (m - 1) + (m / 2) * log + removed * 3 * m / 2);
            CHECK(one.combines == all.combines);
            CHECK(one.bracket == all.bracket);
        }
    });
}

TEST_CASE("halving and doubling: any number of blocks") {
    std::uint64_t number = 0;
    for (rank_t p = 1; p <= 40; ++p)
        for (const block_t blocks : {0u, 1u, 2u, 3u, p, p + 1, 101u}) {
            if (!bough_test::sampled(++number, 6)) continue;
            CAPTURE(p, blocks);
            const verdict all = verify(plan_allreduce(halving_doubling{}, {.size = p, .blocks = blocks}));
            CHECK(all);
            CHECK((!all.traits.needs_commutative && all.traits.position_invariant));
            CHECK(verify(plan_reduce(halving_doubling{}, {.size = p, .root = p / 2, .blocks = blocks})));
        }
}
