// SPDX-License-Identifier: BSL-1.0
// Regions of threads keep the rules of remote writes.
#include "support/catch.hpp"
#include "support/huge_memory.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/testing/remote_write_conformance.hpp>
#include <bough/testing/remote_write_threads.hpp>

#include <cstdint>
#include <new>
#include <vector>

using namespace bough;

TEST_CASE("remote writes: a region that no memory can hold is refused") {
    if (!bough_test::may_ask_for_huge_memory) return;
    for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 63}) {
        CHECK_THROWS_AS(in_process_regions(1, {.region_bytes = bytes}), std::bad_alloc);
        CHECK_THROWS_AS(simulated_regions(1, {.region_bytes = bytes}), std::bad_alloc);
    }
}

TEST_CASE("remote writes: in_process_regions keep the rules") {
    const auto regions = [](rank_t n) {
        in_process_regions world(n);
        std::vector<in_process_regions::endpoint> ends;
        for (rank_t r = 0; r != n; ++r) ends.push_back(world.connect(r));
        return ends;
    };
    const auto good = [](const testing::remote_write_fault& fault) {
        if (fault) UNSCOPED_INFO(fault.sentence << ", rank " << fault.rank);
        return !fault;
    };
    CHECK(good(testing::check_remote_writes(regions)));
    CHECK(good(testing::check_remote_write_order(regions)));
}
