// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/concepts/explain_plan.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/testing/plan_archetype.hpp>
#include <bough/testing/sink_archetype.hpp>
#include <bough/verify/verify.hpp>

#include <type_traits>

using namespace bough;
using bough::testing::algorithm_archetype;
using bough::testing::plan_archetype;
using bough::testing::sink_archetype;

static_assert(explain_algorithm<algorithm_archetype>());
static_assert(explain_plan<plan_archetype>());
static_assert(explain_plan<plan<goal::broadcast, algorithm_archetype>>());
static_assert(!Algorithm<int> && !Plan<int> && !Algorithm<plan_archetype> && !Plan<algorithm_archetype>);
static_assert(!std::is_default_constructible_v<algorithm_archetype> && !std::is_copy_constructible_v<plan_archetype>);

// verify asks for a Plan, and for no more; plan for an Algorithm, and for no more.
static_assert(proven<verify(plan_archetype({.size = 5, .root = 2, .blocks = 3}))>());
static_assert(proven<verify(plan_broadcast(algorithm_archetype::make(), {.size = 5, .root = 2}))>());

namespace {

struct returns_int {
    void emit(const dimensions&, rank_t, StepSink auto&) const {}
    int natural_blocks(rank_t) const { return 1; } // not a block_t
    block_t scratch(const dimensions&, rank_t) const { return 0; }
    status check(const dimensions&) const { return {}; }
};
static_assert(!Algorithm<returns_int>);

struct unequal { // without ==
    void emit(const dimensions&, rank_t, StepSink auto&) const {}
    block_t natural_blocks(rank_t) const { return 1; }
    block_t scratch(const dimensions&, rank_t) const { return 0; }
    status check(const dimensions&) const { return {}; }
};
struct equal : unequal {
    friend bool operator==(const equal&, const equal&) { return true; }
};
static_assert(!Algorithm<unequal> && Algorithm<equal>);

} // namespace

TEST_CASE("a plan gives its steps to a sink that can do nothing but take them") {
    const plan_archetype star({.size = 5, .root = 2, .blocks = 3});
    std::size_t steps = 0;
    for (rank_t r = 0; r != star.size(); ++r) star.emit(r, sink_archetype(steps));
    REQUIRE(steps == 8);
}
