// SPDX-License-Identifier: BSL-1.0
#include "proof_trees.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>

using namespace bough;
using test::over;
using test::proven_everywhere;

namespace {

struct planner {
    constexpr auto operator()(const auto& source, const dimensions& at) const { return plan_reduce(source, at); }
};
static_assert(test::proven_over_trees<planner>());
static_assert(proven_everywhere<over<planner, binomial{}, 4, 3>>()); // several blocks
static_assert(proven_everywhere<over<planner, binomial{}, 0, 0>>()); // no data at all

// Children that land in fewer planes wait for each other.
template <std::uint32_t Landing>
constexpr auto landing = [](rank_t size) {
    return plan_reduce(tree_reduce{fnomial{.degree = 3}, Landing}, {.size = size, .blocks = 2});
};
static_assert(proven_everywhere<landing<1>>() && proven_everywhere<landing<2>>());

// The example of the documentation: nine ranks, degree 3.
constexpr plan_traits nine = verify(plan_reduce(fnomial{.degree = 3}, {.size = 9})).traits;
static_assert(nine.rounds == 4 && nine.depth == 4 && nine.messages == 8 && nine.combines == 8 &&
              !nine.needs_commutative);

} // namespace

TEST_CASE("proofs of reduce") { SUCCEED("proved by the compiler"); }
