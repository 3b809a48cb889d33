// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/concepts/explain_step_sink.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/testing/sink_archetype.hpp>

#include <type_traits>
#include <vector>

using namespace bough;

static_assert(explain_step_sink<bough::testing::sink_archetype>());
static_assert(explain_step_sink<detail::null_sink&>());
static_assert(explain_step_sink<schedule>() && explain_step_sink<step_counts>());
static_assert(!StepSink<int> && !StepSink<const schedule>);
static_assert(!std::is_copy_constructible_v<bough::testing::sink_archetype>);

namespace {

constexpr bool makes_steps() {
    std::vector<step> seen;
    step_sink sink{[&](const step& s) { seen.push_back(s); }};
    const slice a{input, 0, 2};
    const slice b{scratch(3), 0, 2};
    sink.send(1, a);
    sink.receive(2, b);
    sink.combine(a, b, b);
    sink.copy(b, a.in(output));
    return seen == std::vector{send_step(1, a), receive_step(2, b), combine_step(a, b, b), copy_step(b, a.in(output))};
}
static_assert(makes_steps());

} // namespace

TEST_CASE("a callable that takes a step becomes a sink") {
    REQUIRE(makes_steps());
    int calls = 0;
    step_sink sink{[&](const step& s) { calls += s.verb == verb::copy ? 1 : 100; }};
    sink.copy({input, 0, 1}, {output, 0, 1});
    REQUIRE(calls == 1);
}
