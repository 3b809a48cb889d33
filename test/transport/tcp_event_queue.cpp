// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/tcp/event_queue.hpp>

#include <array>

using namespace bough;
using namespace bough::detail;

TEST_CASE("tcp_event_queue: hands over in order, as far as there is room") {
    tcp_event_queue q;
    CHECK(q.empty());
    q.complete(7, errc::cancelled, 3);
    q.lost(2, errc::no_resources);
    q.complete(8, errc::ok, 1);
    std::array<event, 2> events;
    CHECK(q.hand_over({}) == 0);
    REQUIRE(q.hand_over(events) == 2);
    CHECK((events[0].what == event::kind::complete && events[0].id == 7));
    CHECK((events[0].code == errc::cancelled && events[0].peer == 3));
    CHECK((events[1].what == event::kind::lost && events[1].code == errc::no_resources && events[1].peer == 2));
    CHECK_FALSE(q.empty());
    q.complete(9, errc::ok, 1); // behind what still waits
    REQUIRE(q.hand_over(events) == 2);
    CHECK((events[0].id == 8 && events[1].id == 9));
    CHECK(q.empty());
    CHECK(q.hand_over(events) == 0);
}

TEST_CASE("tcp_event_queue: knows which ends have not been handed over") {
    tcp_event_queue q;
    q.complete(7, errc::ok, 1);
    q.lost(8, errc::peer_dead); // a rank, not an id
    q.complete(9, errc::ok, 1);
    CHECK((q.has_completed(7) && q.has_completed(9)));
    CHECK_FALSE(q.has_completed(0));
    std::array<event, 1> events;
    q.hand_over(events);
    CHECK_FALSE(q.has_completed(7));
    CHECK(q.has_completed(9));
}
