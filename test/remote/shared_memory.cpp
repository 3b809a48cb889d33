// SPDX-License-Identifier: BSL-1.0
// Regions of processes keep the rules of remote writes; here their ranks are threads. (Processes: one_sided_processes.cpp)
#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include <bough/remote/shared_memory.hpp>
#include <bough/testing/remote_write_conformance.hpp>
#include <bough/testing/remote_write_threads.hpp>

#include <string>
#include <vector>

using namespace bough;

TEST_CASE("remote writes: shared_memory_regions keep the rules") {
    const auto regions = [](rank_t n) {
        return bough_test::joined_ends<shared_memory_regions>(n, [](rank_t, auto& wire, status& why) {
            return shared_memory_regions::join(wire, why, {.region_bytes = 5000});
        });
    };
    const auto good = [](const testing::remote_write_fault& fault) {
        if (fault) UNSCOPED_INFO(fault.sentence << ", rank " << fault.rank);
        return !fault;
    };
    CHECK(good(testing::check_remote_writes(regions)));
    CHECK(good(testing::check_remote_write_order(regions)));
}

TEST_CASE("shared_memory_regions: sizes that differ are refused on every rank") {
    std::vector<status> why;
    const auto made = bough_test::joined_ends<shared_memory_regions>(
        3,
        [](rank_t r, auto& wire, status& result) {
            return shared_memory_regions::join(wire, result, {.region_bytes = r == 1 ? 8192u : 4096u});
        },
        &why);
    CHECK(made.empty());
    for (const status& s : why) CHECK(s.code == errc::invalid_argument);
}
