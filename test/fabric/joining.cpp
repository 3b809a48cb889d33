// SPDX-License-Identifier: BSL-1.0
// A rank that dies or fails while it joins over libfabric is named to all others, rightly, and nobody waits for it.
#include "fabric/ranks.hpp"
#include "support/struck.hpp"

using namespace bough;
using bough_test::check_every_blow;
using test_fabric::offered_here;

namespace {

// Where libfabric itself has no memory, its sockets go on trying without a word, until the time is over.
bool tells_of_memory(const fabric_options& options) { return options.provider == "shm"; }

} // namespace

TEST_CASE("fabric: a blow at any moment of joining") {
    for (const fabric_options& options : offered_here())
        check_every_blow(
            "fabric, " + options.provider, 4,
            [&](auto& wire, status& s) { return fabric::join(wire, options, s).has_value(); },
            tells_of_memory(options));
}
TEST_CASE("fabric_regions: a blow at any moment of joining") {
    for (const fabric_options& options : offered_here())
        check_every_blow(
            "fabric_regions, " + options.provider, 4,
            [&](auto& wire, status& s) {
                return fabric_regions::join(wire, {.region_bytes = 4096, .device = options}, s).has_value();
            },
            tells_of_memory(options));
}
