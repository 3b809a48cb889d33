// SPDX-License-Identifier: BSL-1.0
// Recursive halving as a reduce_scatter and recursive doubling as an allgather: proofs, and counts derived from folds.
#include "blocks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allgather/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/reduce_scatter/recursive_halving.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

using namespace bough;

namespace {

template <class F>
void for_each_size(F f) {
    for (rank_t p = 1; p <= 64; ++p)
        if (p <= 17 || bough_test::sampled(p, 6)) f(p);
    for (rank_t p = 65; p <= 300; ++p)
        if (bough_test::mixed(bough_test::seed() ^ p) % (bough_test::all() ? 12 : 120) == 0) f(p);
}

step_counts counts_of(const Plan auto& plan, rank_t rank) {
    step_counts counts;
    plan.emit(rank, counts);
    return counts;
}

} // namespace

TEST_CASE("recursive halving: proofs, rounds, the parts of messages, rank order where it is claimed") {
    for_each_size([](rank_t p) {
        const rank_t power = std::bit_floor(p);
        const std::uint64_t removed = p - power;
        const std::uint32_t log = static_cast<std::uint32_t>(std::bit_width(power)) - 1;
        for (const distances distance : {distances::doubling, distances::halving}) {
            const bool doubling = distance == distances::doubling;
            CAPTURE(p, doubling);
            const auto plan = plan_reduce_scatter(recursive_halving{distance}, {.size = p});
            const plan_traits traits = test::prove(plan);
            // Who does not fold starts three rounds earlier; first come, first served is not always the best order.
            const std::uint32_t in_step = log + (removed != 0 ? 3 : 0);
            CHECK((traits.rounds == in_step || (removed != 0 && traits.rounds == in_step + 1)));
            // Each block meets power - 1 combines among the members, and one per pair that folds. A pair sends its
            // vector and a half to fold, and a block in the end; a block is sent as often as it is combined.
            CHECK(traits.combines == std::uint64_t{p} * (power - 1) + removed * p);
            CHECK(traits.volume == std::uint64_t{p} * (power - 1) + removed * (p + (p - p / 2) + 1));
            CHECK(traits.position_invariant);
            CHECK(traits.needs_commutative == (!doubling && p > 3));
            // Of a power of two's p - 1 parts there is one a message, all but log2 p are more parts.
            if (removed == 0) CHECK(counts_of(plan, p / 2).parts == (doubling ? 2 * (p - 1 - log) : 0));
            if (doubling && p != 1)
                CHECK(traits.bracket == verify(plan_allreduce(recursive_doubling{}, {.size = p})).traits.bracket);
        }
    });
    CHECK(check_plan(recursive_halving{}, {.size = 4, .blocks = 3}));
}

// From rank 0 of 8 go, at distance 1, the blocks of the odd ranks; at distance 4, those of the upper half.
TEST_CASE("recursive halving: which blocks go where") {
    const auto first_send = [](distances distance) {
        std::vector<block_t> blocks;
        for (const step& s : plan_reduce_scatter(recursive_halving{distance}, {.size = 8}).schedule_of(0)) {
            if (s.verb != verb::send) break;
            for (block_t b = s.a.first; b != s.a.last(); ++b) blocks.push_back(b);
        }
        return blocks;
    };
    CHECK(first_send(distances::doubling) == std::vector<block_t>{1, 3, 5, 7});
    CHECK(first_send(distances::halving) == std::vector<block_t>{4, 5, 6, 7});
}

TEST_CASE("allgather by recursive doubling: proofs, rounds and traffic") {
    for_each_size([](rank_t p) {
        CAPTURE(p);
        const rank_t power = std::bit_floor(p);
        const std::uint64_t removed = p - power;
        const std::uint32_t log = static_cast<std::uint32_t>(std::bit_width(power)) - 1;
        const auto plan = plan_allgather(recursive_doubling{}, {.size = p});
        const plan_traits traits = test::prove(plan);
        // In step, log + 2; who does not fold starts earlier, and takes ports from messages that others wait for.
        CHECK(traits.rounds >= log + (removed != 0 ? 2 : 0));
        CHECK(traits.rounds <= log + (removed != 0 ? 2 + log : 0));
        // Every member receives what it has not, and everybody who left p - 1 blocks.
        std::uint64_t received = removed * (p - 1);
        for (rank_t r = 0; r != p; ++r) received += detail::paired_fold(p).leaves(r) ? 0 : p - 1;
        CHECK(traits.volume == received);
        CHECK(traits.scratch_max == 0);
    });
    CHECK(check_plan(recursive_doubling_allgather{}, {.size = 4, .blocks = 3}));
}
