// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/emulated/arrivals.hpp>

#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using detail::emulated_arrivals;

namespace {

event message(rank_t from, std::uint64_t bytes) {
    event e;
    e.what = event::kind::arrived;
    e.peer = from;
    e.bytes = bytes;
    return e;
}
event loss(rank_t of) {
    event e;
    e.what = event::kind::lost;
    e.peer = of;
    return e;
}
emulated_arrivals links(const emulated_link& alike, const std::vector<emulated_link>& others = {},
                        const emulated_windows& slow = {}) {
    return {2, 4, alike, others, slow, 1};
}

} // namespace

TEST_CASE("emulated_arrivals: a link carries one message after another, and then takes its latency") {
    emulated_arrivals held = links({.latency_ns = 1000, .ns_per_byte = 2});
    CHECK((held.take_time() && held.empty()));
    held.hold(message(0, 100), 50);
    held.hold(message(0, 10), 60);
    held.hold(message(1, 5), 60);
    CHECK(held.next_ns() == 60 + 10 + 1000);
    CHECK(held.take().peer == 1);
    CHECK(held.next_ns() == 50 + 200 + 1000);
    CHECK(held.take().bytes == 100);
    CHECK(held.next_ns() == 50 + 200 + 20 + 1000);
    CHECK(held.next().bytes == 10);
}

TEST_CASE("emulated_arrivals: links to this rank may differ; the last one named counts") {
    emulated_arrivals held = links({}, {{.from = 0, .to = 2, .latency_ns = 7},
                                        {.from = 0, .to = 2, .latency_ns = 9},
                                        {.from = 0, .to = 3, .latency_ns = 11}});
    held.hold(message(0, 1), 100);
    held.hold(message(1, 1), 100);
    CHECK(held.take().peer == 1);
    CHECK(held.next_ns() == 109);
    CHECK_FALSE(links({}, {{.from = 0, .to = 3, .latency_ns = 11}}).take_time());
}

TEST_CASE("emulated_arrivals: jitter keeps the order of a peer, and is the same in every run") {
    std::vector<double> due[2];
    for (auto& list : due) {
        emulated_arrivals held = links({.jitter_ns = 1000});
        for (std::uint64_t k = 1; k <= 100; ++k) held.hold(message(0, k), static_cast<double>(k));
        for (std::uint64_t k = 1; k <= 100; ++k) {
            list.push_back(held.next_ns());
            REQUIRE(held.take().bytes == k);
        }
    }
    CHECK(due[0] == due[1]);
    CHECK(due[0].front() != due[0].back());
}

TEST_CASE("emulated_arrivals: a loss comes after what the peer has sent") {
    emulated_arrivals held = links({.latency_ns = 1000});
    held.hold(message(0, 1), 0);
    held.hold(loss(0), 5);
    held.hold(loss(1), 5); // it has sent nothing
    CHECK((held.is_leaving(0) && !held.is_gone(0)));
    CHECK(held.take().peer == 1);
    CHECK((held.is_gone(1) && !held.is_leaving(1)));
    CHECK(held.take().what == event::kind::arrived);
    CHECK(held.is_leaving(0));
    CHECK(held.take().what == event::kind::lost);
    CHECK((held.is_gone(0) && held.empty()));
}

TEST_CASE("emulated_arrivals: in slow windows bytes take longer") {
    const emulated_windows slow{.period_ns = 1000, .duration_ns = 100, .factor = 4};
    emulated_arrivals held = links({.ns_per_byte = 1}, {}, slow);
    held.hold(message(0, 10), 1000);
    held.hold(message(1, 10), 1500);
    CHECK(held.next_ns() == 1040);
    (void)held.take();
    CHECK(held.next_ns() == 1510);
}
