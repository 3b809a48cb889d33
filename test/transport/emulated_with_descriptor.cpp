// SPDX-License-Identifier: BSL-1.0
// An emulated cluster with a descriptor: the rules, and when it wakes.
#if defined(__linux__)
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/events.hpp>
#include <bough/testing/descriptor_laws.hpp>
#include <bough/transport/emulated_with_descriptor.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

using namespace bough;

namespace {

using end = emulated_with_descriptor<in_process::endpoint>;
static_assert(explain_descriptor_transport<end>());

std::vector<end> ends_of(in_process& world, const emulation& network) {
    std::vector<end> ends;
    for (rank_t r = 0; r != world.size(); ++r) ends.emplace_back(world.connect(r), network);
    return ends;
}
bool readable(end& e, int ms) {
    pollfd p{e.descriptor(), POLLIN, 0};
    return ::poll(&p, 1, ms) == 1;
}

} // namespace

TEST_CASE("emulated_with_descriptor: keeps the rules of a transport with a descriptor") {
    for (const double latency_ns : {0.0, 1000.0})
        for (const std::uint32_t slots : {1u, 8u}) {
            const char* fault = testing::check_descriptor_transport([&](rank_t n) {
                in_process world{n, {.slots = slots}};
                return ends_of(world, {.latency_ns = latency_ns});
            });
            CHECK(std::string(fault == nullptr ? "" : fault) == "");
        }
}
TEST_CASE("emulated_with_descriptor: wakes when a message comes, and again when it is due") {
    in_process world{2};
    std::vector<end> ends = ends_of(world, {.latency_ns = 200e6});
    end& to = ends[1];
    std::array<event, 4> events;
    CHECK_FALSE(to.arm()); // before anybody has asked for the descriptor
    REQUIRE(to.descriptor() >= 0);
    REQUIRE(to.arm());
    CHECK_FALSE(readable(to, 0));
    REQUIRE(ends[0].post_send(1, {}, {}, 0) == posted::complete);
    CHECK(readable(to, 0));
    to.disarm();
    CHECK_FALSE(readable(to, 0));
    const std::uint64_t come = to.now_ns();
    REQUIRE(to.poll(events) == 0);
    bool armed = to.arm();
    if (!armed) armed = to.arm(); // it may look once more
    if (armed) {
        CHECK(readable(to, 20'000)); // for as long as it takes
        to.disarm();
    }
    CHECK(to.now_ns() - come >= 200'000'000);
    CHECK_FALSE(to.arm()); // it is due
    REQUIRE(to.poll(events) == 1);
    CHECK(events[0].what == event::kind::arrived);
    to.release(events[0].id);
    CHECK(to.arm());
    CHECK_FALSE(readable(to, 0));
}
TEST_CASE("emulated_with_descriptor: ranks that sleep in poll() reduce over slow links, and seldom wake") {
    std::atomic<int> wrong{0}, wakes{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{emulated_with_descriptor{std::move(transport), {.latency_ns = 20e6, .ns_per_byte = 1}},
                          {.timeout_ns = 30'000'000'000}};
        event_progress events{comm, 10'000};
        std::vector<std::uint64_t> x(100, comm.rank() + 1);
        for (int round = 0; round != 3; ++round) {
            operation op = start_allreduce(comm, x, plus{});
            while (!op.done()) {
                pollfd p{events.descriptor(), POLLIN, 0};
                const int most_ms = events.prepare();
                wakes += most_ms != 0;
                ::poll(&p, 1, most_ms);
                events.progress();
            }
            op.wait();
        }
        wrong += x[99] != 12;
    });
    CHECK(wrong == 0);
    CHECK(wakes < 100);
}
#endif
