// SPDX-License-Identifier: BSL-1.0
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/double_tree.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <vector>

using namespace bough;

namespace {

template <rank_t Root, block_t Blocks>
constexpr auto broadcast_of =
    [](rank_t size) { return plan_broadcast(double_tree{}, {.size = size, .root = Root % size, .blocks = Blocks}); };
template <rank_t Root, block_t Blocks>
constexpr auto reduce_of =
    [](rank_t size) { return plan_reduce(double_tree{}, {.size = size, .root = Root % size, .blocks = Blocks}); };
template <rank_t Root, block_t Blocks>
constexpr auto allreduce_of =
    [](rank_t size) { return plan_allreduce(double_tree{}, {.size = size, .root = Root % size, .blocks = Blocks}); };
static_assert(test::proven_everywhere<broadcast_of<0, 4>>());
static_assert(test::proven_for<broadcast_of<3, 1>, 1, 5, 7>());
static_assert(test::proven_everywhere<reduce_of<0, 3>>());
static_assert(test::proven_for<reduce_of<3, 1>, 1, 5, 7>());
static_assert(test::proven_everywhere<allreduce_of<0, 2>>());
static_assert(test::proven_for<allreduce_of<3, 0>, 1, 5>());

// The rounds of the colouring: a block every other round in each tree, and two rounds a level at most.
std::uint32_t most_rounds(rank_t p, block_t n) { return n + 2 * static_cast<std::uint32_t>(std::bit_width(p - 1) - 1); }

} // namespace

TEST_CASE("two trees: every rank is inner in one of them at most, and a colouring keeps its ports free") {
    for (rank_t p = 2; p <= 1030; ++p) {
        if (p > 100 && !bough_test::sampled(p, 8)) continue;
        CAPTURE(p);
        const dimensions at{.size = p, .root = p / 3, .blocks = 2};
        std::vector<detail::two_trees> trees;
        for (rank_t r = 0; r != p; ++r) trees.emplace_back(at, r);
        bool right = true;
        for (rank_t r = 0; r != p; ++r) {
            const bool is_root = r == at.root;
            right &= is_root || trees[r][0].children == 0 || trees[r][1].children == 0;
            std::uint32_t busy[2] = {0, 0}; // rounds, modulo 2, in which it sends
            for (std::uint32_t t = 0; t != 2; ++t) {
                const auto& mine = trees[r][t];
                right &= (mine.parent == no_rank) == is_root;
                right &= mine.round <= 1 + t + 2 * (std::bit_width(p - 1) - 1);
                for (rank_t c = 0; c != mine.children; ++c) {
                    const auto& child = trees[mine.child[c]][t];
                    right &= child.parent == r && child.round > mine.round;
                    right &= c == 0 || child.round > trees[mine.child[0]][t].round;
                    ++busy[child.round % 2];
                }
            }
            right &= busy[0] <= 1 && busy[1] <= 1;
            right &= is_root || trees[r][0].round % 2 != trees[r][1].round % 2;
        }
        REQUIRE(right);
    }
}

TEST_CASE("double trees: any number of ranks and blocks, in n + 2 floor(log2(p - 1)) rounds at most") {
    std::uint64_t number = 0;
    for (rank_t p = 2; p <= 64; ++p)
        for (const block_t n : {1u, 2u, 3u, 8u, 21u})
            for (const rank_t root : std::set<rank_t>{0, 1, p / 2, p - 1}) {
                if (!bough_test::sampled(++number, 4)) continue;
                CAPTURE(p, n, root);
                const dimensions at{.size = p, .root = root, .blocks = n};
                const auto broadcast = plan_broadcast(double_tree{}, at);
                const plan_traits there = test::prove_with_claims(broadcast);
                CHECK(test::rounds_in_order(broadcast) <= most_rounds(p, n));
                CHECK(there.volume == std::uint64_t{p - 1} * n);
                CHECK(there.volume_max <= std::max<std::uint64_t>(n + 1, 2 * (n / 2)));
                CHECK(there.peers_max <= 4);
                CHECK(there.scratch_max == 0);
                const auto reduce = plan_reduce(double_tree{}, at);
                const plan_traits back = test::prove_with_claims(reduce);
                CHECK(test::rounds_in_order(reduce) <= most_rounds(p, n) + n % 2);
                CHECK(back.volume == there.volume);
                CHECK(back.combines == there.volume);
                const auto allreduce = plan_allreduce(double_tree{}, at);
                const plan_traits both = test::prove_with_claims(allreduce);
                CHECK(test::rounds_in_order(allreduce) <= 2 * most_rounds(p, n) + n % 2);
                CHECK(both.volume == 2 * there.volume);
                CHECK(both.combines == there.volume);
                if (n == 1) CHECK(both.bracket == back.bracket); // the same bits
                CHECK(both.rank_consistent);
                CHECK(both.peers_max <= 4);
            }
}

TEST_CASE("double trees: the natural number of blocks is twice that of the levels, and at least two") {
    for (rank_t p = 1; p <= 1030; ++p) {
        block_t levels = 0; // of a tree in which all ranks but the root are in heap order
        for (rank_t r = p - 1; r != 0; r /= 2) ++levels;
        CAPTURE(p);
        CHECK(detail::two_tree_natural_blocks(p) == std::max<block_t>(2, 2 * levels));
    }
    CHECK(detail::two_tree_natural_blocks(~rank_t{0}) == 64);
}

TEST_CASE("double trees: one rank, and no blocks") {
    for (const rank_t p : {1u, 2u, 6u})
        for (const block_t n : {0u, 1u, 5u}) {
            const dimensions at{.size = p, .root = p - 1, .blocks = n};
            test::prove_with_claims(plan_broadcast(double_tree{}, at));
            test::prove_with_claims(plan_reduce(double_tree{}, at));
            test::prove_with_claims(plan_allreduce(double_tree{}, at));
        }
    CHECK(double_tree_broadcast{}.natural_blocks(1) == 2);
    CHECK(double_tree_broadcast{}.natural_blocks(9) == 8);
}

TEST_CASE("no mutant of a double tree passes for it") {
    for (const rank_t p : {2u, 3u, 6u, 7u}) {
        CAPTURE(p);
        const dimensions at{.size = p, .root = p / 2, .blocks = 3};
        CHECK(test::spoil(plan_broadcast(double_tree{}, at)) != 0);
        CHECK(test::spoil(plan_reduce(double_tree{}, at)) != 0);
        CHECK(test::spoil(plan_allreduce(double_tree{}, at)) != 0);
    }
}
