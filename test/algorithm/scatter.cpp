// SPDX-License-Identifier: BSL-1.0
#include "proof_trees.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/mirror.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/core/freeze.hpp>
#include <bough/tree/depth.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

using namespace bough;
using test::over;

namespace {

struct planner {
    constexpr auto operator()(const auto& source, const dimensions& at) const { return plan_scatter(source, at); }
};
static_assert(test::proven_over_trees<planner>());

// The picture of the header, step by step.
constexpr auto seven = plan_scatter(binomial{}, {.size = 7});
static_assert(seven.blocks() == 7);
static_assert(freeze<[] { return seven.schedule_of(0).steps; }>() ==
              std::array{send_step(4, {input, 4, 3}), send_step(2, {input, 2, 2}), send_step(1, {input, 1, 1}),
                         copy_step({input, 0, 1}, {output, 0, 1})});
static_assert(freeze<[] { return seven.schedule_of(4).steps; }>() ==
              std::array{receive_step(0, {scratch(0), 4, 3}), send_step(6, {scratch(0), 6, 1}),
                         send_step(5, {scratch(0), 5, 1}), copy_step({scratch(0), 4, 1}, {output, 4, 1})});
static_assert(freeze<[] { return seven.schedule_of(5).steps; }>() == std::array{receive_step(4, {output, 5, 1})});

// Root 5 of 7: the subtree of virtual rank 2 .. 3 is the ranks 0 and 1, that of 0 .. 3 the ranks 5, 6, 0 and 1.
static_assert(verify(over<planner, binomial{}, 5>(7)).traits.messages == 6);
static_assert(verify(over<planner, binomial{}, 2>(7)).traits.messages == 7); // 6 and 0, 1: two messages on one edge
static_assert(verify(plan_scatter(ordered{binomial{}}, {.size = 7, .root = 2})).traits.messages == 6);

static_assert(check_plan(tree_scatter{binomial{}}, {.size = 7, .blocks = 7}) == status{});
static_assert(check_plan(tree_scatter{binomial{}}, {.size = 7, .blocks = 1}).code == errc::invalid_argument);
static_assert(check_plan(tree_scatter{fnomial{.degree = 1}}, {.size = 7}).code == errc::invalid_argument);

// The ways of finding a subtree's intervals agree: by its shape, and by a walk of all its ranks.
template <Tree T>
void check_slices(const T& tree) {
    const table walked{tree};
    for (rank_t r = 0; r != tree.size(); ++r) {
        CAPTURE(tree.size(), tree.root(), r);
        CHECK(bough::detail::slices_below(tree, r) == bough::detail::slices_below(walked, r));
    }
}

// The depths of all ranks together: how often a block is sent.
template <Tree T>
std::uint64_t path_length(const T& tree) {
    std::uint64_t sum = 0;
    for (rank_t r = 0; r != tree.size(); ++r)
        for (rank_t up = r; up != tree.root(); up = tree.parent(up)) ++sum;
    return sum;
}

} // namespace

TEST_CASE("scatter: every tree, 1 to 64 ranks, every root") {
    for (rank_t size = 1; size <= 64; ++size)
        for (rank_t root = 0; root != size; ++root) {
            if (size > 20 && !bough_test::sampled(size * 64 + root, 4)) continue;
            const dimensions at{.size = size, .root = root, .blocks = size};
            test::for_each_source(at, [&](const char* name, const auto& source, bool keeps_order) {
                CAPTURE(name, size, root);
                const verdict proof = verify(plan_scatter(source, at));
                REQUIRE(proof);
                REQUIRE(verify(plan_scatter(source, at), {.eager_slots = 2}));
                const auto& tree = bind_tree(source, at);
                CHECK(proof.traits.volume == path_length(tree));
                CHECK(proof.traits.combines == 0);
                CHECK(proof.traits.hops == depth(tree));
                if (keeps_order) CHECK(proof.traits.messages == size - 1);
                CHECK(proof.traits.messages >= size - 1);
                block_t most = 0;
                for (rank_t r = 0; r != size; ++r) most = std::max(most, plan_scatter(source, at).scratch(r));
                CHECK(proof.traits.scratch_max == most);
                // Backwards twice is forwards.
                const auto there_and_back = mirror(mirror(tree_scatter{source}));
                for (rank_t r = 0; r != size; ++r)
                    REQUIRE(plan_scatter(there_and_back, at).schedule_of(r) == plan_scatter(source, at).schedule_of(r));
            });
        }
}

TEST_CASE("scatter: binomial volume and rounds") {
    for (rank_t log = 0; log <= 10; ++log) {
        const rank_t size = rank_t{1} << log;
        const plan_traits traits = verify(plan_scatter(binomial{}, {.size = size})).traits;
        CHECK(traits.volume == std::uint64_t{size} / 2 * log);
        CHECK(traits.volume_max == size - 1); // the root
        CHECK(traits.rounds == log);
        CHECK(traits.scratch_max == (log < 2 ? 0 : size / 2));
    }
}

TEST_CASE("scatter: the intervals of subtrees") {
    for (rank_t size = 1; size <= 40; ++size)
        for (rank_t root = 0; root != size; ++root) {
            check_slices(tree{fnomial{.degree = 3}, size, root});
            check_slices(tree{binomial{.orientation = orientation::high}, size, root});
            check_slices(tree{chain{}, size, root});
            check_slices(tree{flat{}, size, root});
            check_slices(in_order{binomial{}, size, root});
        }
}
