// SPDX-License-Identifier: BSL-1.0
// Transports with a descriptor for the caller's own loop: the rules, over threads and shared memory. (tcp: tcp_descriptor.cpp)
#include "support/catch.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/testing/descriptor_laws.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/shared_memory.hpp>

#include <cstdint>
#include <poll.h>
#include <string>
#include <vector>

using namespace bough;

static_assert(explain_descriptor_transport<in_process::endpoint>() && explain_descriptor_transport<shared_memory>());

TEST_CASE("in_process: keeps the rules of a transport with a descriptor") {
    for (const std::uint32_t slots : {1u, 8u}) {
        const char* fault = testing::check_descriptor_transport([&](rank_t n) {
            in_process world{n, {.slots = slots}};
            std::vector<in_process::endpoint> ends;
            for (rank_t r = 0; r != n; ++r) ends.push_back(world.connect(r));
            return ends;
        });
        CHECK(std::string(fault == nullptr ? "" : fault) == "");
    }
#if defined(__linux__)
    CHECK(in_process{1}.connect(0).descriptor() >= 0);
#endif
}
TEST_CASE("shared_memory: keeps the rules of a transport with a descriptor") {
    for (const bool direct : {true, false})
        for (const std::uint32_t slots : {1u, 16u}) {
            const char* fault = testing::check_descriptor_transport(
                [&](rank_t n) { return bough_test::shared_ends(n, {.slots = slots, .direct_reads = direct}); });
            CHECK(std::string(fault == nullptr ? "" : fault) == "");
        }
    auto ends = bough_test::shared_ends(1);
    CHECK(ends[0].descriptor() >= 0);
    CHECK(ends[0].arm());
    pollfd p{ends[0].descriptor(), POLLIN, 0};
    CHECK(::poll(&p, 1, 0) == 0);
}
