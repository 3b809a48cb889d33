// SPDX-License-Identifier: BSL-1.0
// The descriptor of tcp: the rules, and groups whose connections are made when they are needed.
#include "support/catch.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/testing/descriptor_laws.hpp>
#include <bough/transport/tcp.hpp>

#include <array>
#include <poll.h>
#include <string>
#include <vector>

using namespace bough;

static_assert(explain_descriptor_transport<tcp>());

TEST_CASE("tcp: keeps the rules of a transport with a descriptor") {
    for (const rank_t eager : {128u, 1u}) {
        const char* fault = testing::check_descriptor_transport(
            [&](rank_t n) { return test_tcp::ends_of(n, {.eager_mesh = eager}); }, {.longest = 4u << 20});
        CHECK(std::string(fault == nullptr ? "" : fault) == "");
    }
}
TEST_CASE("tcp: with many connections, one descriptor tells of each") {
    auto ends = test_tcp::ends_of(6);
    std::array<event, 8> events;
    REQUIRE(ends[0].descriptor() >= 0);
    for (rank_t from = 1; from != 6; ++from) {
        for (int i = 0; i != 100; ++i) REQUIRE(ends[0].poll(events) == 0); // all but two links are cold now
        REQUIRE(ends[0].arm());
        pollfd p{ends[0].descriptor(), POLLIN, 0};
        CHECK(::poll(&p, 1, 0) == 0);
        REQUIRE(ends[from].post_send(0, {}, {}, 1) == posted::complete);
        CHECK(::poll(&p, 1, 5000) == 1);
        ends[0].disarm();
        CHECK(ends[0].poll(events) == 1); // at once
        CHECK(events[0].peer == from);
        ends[0].release(events[0].id);
    }
}
