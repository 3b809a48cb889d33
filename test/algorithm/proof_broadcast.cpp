// SPDX-License-Identifier: BSL-1.0
#include "proof_trees.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>

using namespace bough;
using test::over;
using test::proven_everywhere;

namespace {

struct planner {
    constexpr auto operator()(const auto& source, const dimensions& at) const { return plan_broadcast(source, at); }
};
static_assert(test::proven_over_trees<planner>());
static_assert(proven_everywhere<over<planner, binomial{}, 4, 3>>()); // several blocks
static_assert(proven_everywhere<over<planner, binomial{}, 0, 0>>()); // no data at all

static_assert(verify(over<planner, binomial{}, 6>(7)).traits.rounds == 3); // the root's number does not matter
static_assert(verify(over<planner, chain{}, 0, 4>(5)).traits.rounds == 7); // a pipeline: (p - 1) + (blocks - 1)

} // namespace

TEST_CASE("proofs of broadcast") { SUCCEED("proved by the compiler"); }
