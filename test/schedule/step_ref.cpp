// SPDX-License-Identifier: BSL-1.0
// A sink behind a virtual function gets every step as it was pushed, at compile time and at run time.
#include "support/catch.hpp"
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/step_ref.hpp>

#include <array>
#include <cstddef>

using namespace bough;

namespace {

constexpr std::array<step, 6> steps{send_step(1, {input, 0, 2}),
                                    send_step(2, {input, 1, 3}, true),
                                    receive_step(3, {output, 2, 4}),
                                    receive_step(4, {output, 3, 5}, true),
                                    combine_step({input, 0, 1}, {output, 4, 1}, {output, 5, 1}),
                                    copy_step({input, 6, 1}, {output, 7, 1})};

// All steps, pushed through a step_ref, arrive as they are.
constexpr bool arrive() {
    schedule taken;
    detail::step_ref_to<schedule> to(taken);
    detail::step_ref& sink = to;
    for (const step& s : steps) push_step(sink, s);
    if (taken.steps.size() != steps.size()) return false;
    for (std::size_t i = 0; i != steps.size(); ++i)
        if (!(taken.steps[i] == steps[i])) return false;
    return true;
}

} // namespace

TEST_CASE("step_ref: hands every step on", "[schedule][step_ref]") {
    STATIC_REQUIRE(arrive());
    CHECK(arrive());
}
