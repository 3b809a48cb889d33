// SPDX-License-Identifier: BSL-1.0
// A rank over libfabric forks amid its operations: its child ends its copies of them, and calls the
// provider for nothing.
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "transport/fork_trial.hpp"
#include <bough/transport/fabric.hpp>
#include <bough/transport/fabric/regions.hpp>
#include <bough/transport/one_sided.hpp>

using namespace bough;

TEST_CASE("fabric: the child of a fork ends its copies of operations in flight, at once") {
    for (const fabric_options& options : test_fabric::offered_here()) {
        const auto join = [&](auto& wire) { return fabric(wire, options); };
        bough_test::check_deeds_of_children(options.provider.c_str(), join);
        bough_test::check_forks_amid_traffic(options.provider.c_str(), join);
        const auto by_writes = [&](auto& wire) {
            return one_sided(fabric_regions{wire, {.region_bytes = one_sided_bytes(wire.size()), .device = options}});
        };
        bough_test::check_deeds_of_children("one_sided over fabric", by_writes);
    }
}
