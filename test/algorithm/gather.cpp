// SPDX-License-Identifier: BSL-1.0
#include "proof_trees.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/gather/tree.hpp>
#include <bough/core/freeze.hpp>
#include <bough/verify/verify.hpp>

#include <array>
#include <cstdint>

using namespace bough;

namespace {

struct planner {
    constexpr auto operator()(const auto& source, const dimensions& at) const { return plan_gather(source, at); }
};
static_assert(test::proven_over_trees<planner>());

// The picture of the header, step by step.
constexpr auto seven = plan_gather(binomial{}, {.size = 7});
static_assert(seven.blocks() == 7);
static_assert(freeze<[] { return seven.schedule_of(0).steps; }>() ==
              std::array{copy_step({input, 0, 1}, {output, 0, 1}), receive_step(1, {output, 1, 1}),
                         receive_step(2, {output, 2, 2}), receive_step(4, {output, 4, 3})});
static_assert(freeze<[] { return seven.schedule_of(4).steps; }>() ==
              std::array{copy_step({input, 4, 1}, {scratch(0), 4, 1}), receive_step(5, {scratch(0), 5, 1}),
                         receive_step(6, {scratch(0), 6, 1}), send_step(0, {scratch(0), 4, 3})});
static_assert(freeze<[] { return seven.schedule_of(5).steps; }>() == std::array{send_step(4, {input, 5, 1})});

static_assert(check_plan(tree_gather{binomial{}}, {.size = 7, .blocks = 7}) == status{});
static_assert(check_plan(tree_gather{binomial{}}, {.size = 7, .blocks = 8}).code == errc::invalid_argument);
static_assert(check_plan(tree_gather{fnomial{.degree = 1}}, {.size = 7}).code == errc::invalid_argument);

// A gather must not pass for a scatter, nor one that loses a block for a gather.
struct pretender : tree_gather<binomial> {
    using serves = goals<goal::scatter>;
};
static_assert(!verify(plan_scatter(pretender{}, {.size = 3})));

struct forgetful { // the last rank's block is sent, but that of the rank before it takes its place
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (rank != at.root) return out.send(at.root, {input, rank, 1});
        out.copy({input, rank, 1}, {output, rank, 1});
        for (rank_t r = 1; r != at.size; ++r) out.receive(r, {output, r == at.size - 1 ? r - 1 : r, 1});
    }
    constexpr block_t natural_blocks(rank_t size) const { return size; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 0; }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const forgetful&, const forgetful&) = default;
};
static_assert(verify(plan_gather(forgetful{}, {.size = 4})).fault != fault::none);

} // namespace

TEST_CASE("gather: every tree, 1 to 64 ranks, every root") {
    for (rank_t size = 1; size <= 64; ++size)
        for (rank_t root = 0; root != size; ++root) {
            if (size > 20 && !bough_test::sampled(size * 64 + root, 4)) continue;
            const dimensions at{.size = size, .root = root, .blocks = size};
            test::for_each_source(at, [&](const char* name, const auto& source, bool keeps_order) {
                CAPTURE(name, size, root);
                const verdict gather = verify(plan_gather(source, at));
                REQUIRE(gather);
                REQUIRE(verify(plan_gather(source, at), {.eager_slots = 2}));
                if (keeps_order) CHECK(gather.traits.messages == size - 1);
                CHECK(verify(plan_gather(mirror(tree_scatter{source}), at)) == gather);
                // The other way round in time: as much traffic, as much scratch.
                const plan_traits scatter = verify(plan_scatter(source, at)).traits;
                CHECK(gather.traits.messages == scatter.messages);
                CHECK(gather.traits.volume == scatter.volume);
                CHECK(gather.traits.hops == scatter.hops);
                CHECK(gather.traits.scratch_max == scatter.scratch_max);
                CHECK(gather.traits.combines == 0);
            });
        }
}

TEST_CASE("gather: binomial volume and rounds") {
    for (rank_t log = 0; log <= 10; ++log) {
        const rank_t size = rank_t{1} << log;
        const plan_traits traits = verify(plan_gather(binomial{}, {.size = size})).traits;
        CHECK(traits.volume == std::uint64_t{size} / 2 * log);
        CHECK(traits.volume_max == size / 2); // the root's largest child
        CHECK(traits.rounds == log);
        CHECK(traits.peers_max == log);
    }
}
