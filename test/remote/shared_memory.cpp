// SPDX-License-Identifier: BSL-1.0
// Regions of processes keep the rules of remote writes; here their ranks are threads. (Processes: one_sided_processes.cpp)
#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include <bough/remote/shared_memory.hpp>
#include <bough/testing/remote_write_conformance.hpp>
#include <bough/testing/remote_write_threads.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;

TEST_CASE("remote writes: shared_memory_regions keep the rules") {
    const auto regions = [](rank_t n) {
        return bough_test::joined_ends<shared_memory_regions>(n, [](rank_t, auto& wire, status& why) {
            return shared_memory_regions::join(wire, {.region_bytes = 5000}, why);
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
            return shared_memory_regions::join(wire, {.region_bytes = r == 1 ? 8192u : 4096u}, result);
        },
        &why);
    CHECK(made.empty());
    for (const status& s : why) CHECK(s.code == errc::invalid_argument);
}

TEST_CASE("shared_memory_regions: a rank that waits sleeps in the end, and finds who has left") {
    auto ends = bough_test::joined_ends<shared_memory_regions>(3, [](rank_t, auto& wire, status& why) {
        return shared_memory_regions::join(wire, {.region_bytes = 4096}, why);
    });
    shared_memory_regions& mine = ends[0];
    const std::uint64_t give_up_ns = mine.now_ns() + 20'000'000'000;
    std::uint32_t idle = 0;
    for (bool sleeps = false; !sleeps;) { // before it does, it looks once more for what may have landed
        REQUIRE(mine.now_ns() < give_up_ns);
        mine.wait(++idle, give_up_ns, [&] { return sleeps = true, false; });
    }
    ends.pop_back();
    event seen[2];
    std::size_t found = 0;
    for (int polls = 0; found == 0; ++polls) {
        REQUIRE(polls != 1000); // until the next one a poll does not look itself
        mine.wait(++idle, give_up_ns, [] { return false; });
        found = mine.poll(seen);
    }
    CHECK(found == 1);
    CHECK((seen[0].what == event::kind::lost && seen[0].peer == 2));
    CHECK(mine.poll(seen) == 0);
}
