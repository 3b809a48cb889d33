// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/schedule/series.hpp>

#include <cstdint>
#include <span>
#include <vector>

using namespace bough;

namespace {

using steps = std::vector<step>;
using lists = std::vector<std::uint32_t>; // the steps of each series, and its end

constexpr std::uint32_t end = 99;
constexpr lists series_of(const steps& all) {
    lists found;
    bough::detail::for_each_series(all, bough::detail::dependents_of(infer_dependences(all)).view(),
                                   [&](std::span<const std::uint32_t> one) {
                                       for (const std::uint32_t i : one) found.push_back(i);
                                       found.push_back(end);
                                   });
    return found;
}
constexpr std::uint32_t operands_of(const steps& all) {
    return bough::detail::operands_of_all_series(all, bough::detail::dependents_of(infer_dependences(all)).view());
}

constexpr slice in0{input, 0, 1}, out0{output, 0, 1}, in1{input, 1, 1}, out1{output, 1, 1};
constexpr slice s0{scratch(0), 0, 1}, s1{scratch(1), 0, 1}, t{scratch(2), 0, 1}, u{scratch(3), 0, 1};

static_assert(series_of({}).empty() && operands_of({}) == 0);
static_assert(series_of({combine_step(in0, s0, out0)}) == lists{0, end});
static_assert(operands_of({combine_step(in0, s0, out0)}) == 2);
// In one plane for partial results, or in several.
static_assert(series_of({combine_step(s0, s1, t), combine_step(t, in0, t), combine_step(t, u, out0)}) ==
              lists{0, 1, 2, end});
static_assert(operands_of({combine_step(s0, s1, t), combine_step(t, in0, t), combine_step(t, u, out0)}) == 4);
static_assert(series_of({combine_step(s0, s1, t), combine_step(t, in0, u), send_step(1, u)}) == lists{0, 1, end});
// Two at once: each has its own operands.
static_assert(series_of({combine_step(s0, in0, t), combine_step({scratch(0), 1, 1}, in1, {scratch(2), 1, 1}),
                         combine_step(t, s1, out0), combine_step({scratch(2), 1, 1}, {scratch(1), 1, 1}, out1)}) ==
              lists{0, 2, end, 1, 3, end});
// The result of the first is the upper operand: that is another order. So these are two series.
static_assert(series_of({combine_step(s0, s1, t), combine_step(in0, t, out0)}) == lists{0, end, 1, end});
// Somebody else reads the partial result, or what is read is more than it, or it goes to the output.
static_assert(series_of({combine_step(s0, s1, t), send_step(1, t), combine_step(t, in0, out0)}) ==
              lists{0, end, 2, end});
static_assert(series_of({combine_step(s0, s1, t), combine_step(t, in0, out0), send_step(1, t)}) ==
              lists{0, end, 1, end});
static_assert(series_of({combine_step(s0, s1, t), combine_step(t, t, out0)}) == lists{0, end, 1, end});
static_assert(series_of({combine_step(s0, s1, out0), combine_step(out0, u, out0)}) == lists{0, end, 1, end});
// Of unlike length.
static_assert(operands_of({combine_step(s0, s1, t), combine_step(t, in0, out0),
                           combine_step(in1, {scratch(0), 1, 1}, out1)}) == 0);

} // namespace

TEST_CASE("series: an operand that is overwritten before the last combine has run ends the search", "[schedule]") {
    // Step 2 may run before step 3 does, and puts other bytes into s1.
    const steps spoiled{combine_step(s0, s1, t), combine_step(t, in0, t), receive_step(1, s1),
                        combine_step(t, u, out0)};
    CHECK(series_of(spoiled).empty());
    CHECK(operands_of(spoiled) == 0);
    // Here it waits for the last one, too.
    const steps waits{combine_step(s0, s1, t), combine_step(t, s1, out0), receive_step(1, s1)};
    CHECK(series_of(waits) == lists{0, 1, end});
    // The last combine may write where an operand lies, as it does in place.
    const steps in_place{combine_step(in0, s1, t), combine_step(t, u, out0)};
    CHECK(series_of(in_place) == lists{0, 1, end});
    // Where partial results go does not matter: nothing writes them if all are combined at once.
    const steps over_operand{combine_step(s0, s1, t), combine_step(t, in0, s0), combine_step(s0, u, out0)};
    CHECK(operands_of(over_operand) == 4);
}
