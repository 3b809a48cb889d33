// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/step.hpp>

#include <type_traits>

using namespace bough;

namespace {

constexpr slice a{input, 0, 2}, b{scratch(0), 0, 2}, c{output, 0, 2};

static_assert(std::is_trivially_copyable_v<step> && std::is_aggregate_v<step>);
static_assert(send_step(1, a) == step{verb::send, false, 1, a, {}, {}} && send_step(1, a) != send_step(2, a));

static_assert(send_step(1, a).communicates() && receive_step(1, b).communicates());
static_assert(!combine_step(a, b, c).communicates() && !copy_step(a, c).communicates());
static_assert(send_step(1, a).reads_a() && !receive_step(1, b).reads_a() && copy_step(a, c).reads_a());
static_assert(combine_step(a, b, c).reads_a() && combine_step(a, b, c).reads_b() && !copy_step(a, c).reads_b());
static_assert(!send_step(1, a).writes() && receive_step(1, b).writes() && copy_step(a, c).writes());
static_assert(send_step(1, a).blocks() == 2 && receive_step(1, b).blocks() == 2 && combine_step(a, b, c).blocks() == 2);

// A template argument.
template <step S>
constexpr verb verb_of = S.verb;
static_assert(verb_of<receive_step(3, b)> == verb::receive);

} // namespace

TEST_CASE("the numbers of the verbs do not change: exported schedules carry them") {
    CHECK(static_cast<int>(verb::send) == 0);
    CHECK(static_cast<int>(verb::receive) == 1);
    CHECK(static_cast<int>(verb::combine) == 2);
    CHECK(static_cast<int>(verb::copy) == 3);
}
