// SPDX-License-Identifier: BSL-1.0
#include "proof_trees.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>

using namespace bough;
using test::over;
using test::proven_everywhere;

namespace {

struct planner {
    constexpr auto operator()(const auto& source, const dimensions& at) const { return plan_allreduce(source, at); }
};
static_assert(test::proven_over_trees<planner>());
static_assert(proven_everywhere<over<planner, binomial{}, 4, 3>>()); // several blocks
static_assert(proven_everywhere<over<planner, binomial{}, 0, 0>>()); // no data at all

static_assert(verify(over<planner, binomial{}>(8)).traits.rounds == 6);
static_assert(verify(over<planner, ordered<fnomial>{{.degree = 3}}, 6>(13)).traits.needs_commutative == false);

} // namespace

TEST_CASE("proofs of allreduce") { SUCCEED("proved by the compiler"); }
