// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/session/session.hpp>
#include <bough/testing/recording.hpp>
#include <bough/transport/simulated.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace {

using bough::rank_t;
using bough::testing::record;
using bough::testing::recorded;
using bough::testing::recording;
using link = recording<bough::simulated::endpoint>;

static_assert(bough::InPlaceTransport<link> && bough::WaitableTransport<link>);
static_assert(!bough::InPlaceTransport<recording<bough::simulated_taking::endpoint>>);

// One allreduce of two ranks.
record record_allreduce(std::uint64_t seed) {
    record log;
    bough::simulated world{2, {.seed = seed}};
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 2});
    bough::session<link> group[] = {bough::session<link>{link{world.connect(0), log}},
                                    bough::session<link>{link{world.connect(1), log}}};
    bough::prepared work[] = {bough::prepared{bough::bind_plan(plan, 0)}, bough::prepared{bough::bind_plan(plan, 1)}};
    bough::session_operation op[2];
    std::uint64_t value[2] = {1, 2};
    for (rank_t r = 0; r != 2; ++r) {
        bough::call c;
        c.input = c.output = reinterpret_cast<std::byte*>(&value[r]);
        c.count = 1;
        c.element_bytes = 8;
        c.combine = [](const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) {};
        bough::envelope tag;
        tag.operation = 1;
        group[r].start(op[r], work[r], c, tag, {}, 1'000'000);
    }
    while (!op[0].done() || !op[1].done())
        if (!group[0].progress() && !group[1].progress()) world.advance();
    return log;
}

} // namespace

TEST_CASE("recording: what was called, in words") {
    const record log = record_allreduce(1);
    REQUIRE(log.size() >= 6);
    CHECK(to_string(log[0]) == "0: 0 ns send to 1, operation 1, segment 0, 8 bytes: complete");
    CHECK(to_string(log[1]) == "1: 0 ns send to 0, operation 1, segment 0, 8 bytes: complete");
    CHECK(to_string(log).find("arrived from 1, operation 1, segment 0, 8 bytes\n") != std::string::npos);
    CHECK(to_string(log).find("claim of ") != std::string::npos);
    CHECK(to_string(log).find("release of ") != std::string::npos);
}

TEST_CASE("recording: equal seeds give equal records, others do not") {
    CHECK(record_allreduce(1) == record_allreduce(1));
    CHECK(record_allreduce(1) != record_allreduce(2));
}
