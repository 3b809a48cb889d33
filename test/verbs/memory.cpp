// SPDX-License-Identifier: BSL-1.0
// What ranks do that join without memory.
#include "support/poor_rank.hpp"
#include "verbs/ranks.hpp"

#include <cstdint>

using namespace bough;
using namespace test_verbs;

namespace {

constexpr std::uint64_t long_time_ns = 300'000'000'000; // longer than a test may take

} // namespace

TEST_CASE("verbs: a rank that has no memory to join says so, and nobody waits for it") {
    if (!has_card()) return;
    verbs_options options = in_one_thread();
    options.timeout_ns = long_time_ns;
    const auto joins = [&](auto& wire, status& why) { return verbs::join(wire, options, why); };
    bough_test::check_poor_rank_is_told<verbs>(joins);
}

TEST_CASE("verbs_regions: a rank that has no memory to join says so, and nobody waits for it") {
    if (!has_card()) return;
    verbs_regions_options options{.region_bytes = 5000, .device = in_one_thread()};
    options.device.timeout_ns = long_time_ns;
    const auto joins = [&](auto& wire, status& why) { return verbs_regions::join(wire, options, why); };
    bough_test::check_poor_rank_is_told<verbs_regions>(joins);
}
