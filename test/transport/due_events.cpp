// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/detail/due_events.hpp>

#include <array>
#include <cstdint>

using namespace bough;
using detail::due_events;

TEST_CASE("due_events: events come out in order, each once") {
    due_events queue;
    CHECK(queue.empty());
    queue.complete(7, errc::cancelled, 1);
    queue.lost(2, errc::peer_dead);
    const event first = queue.take();
    CHECK((first.what == event::kind::complete && first.id == 7 && first.code == errc::cancelled && first.peer == 1));
    CHECK_FALSE(queue.empty());
    const event second = queue.take();
    CHECK((second.what == event::kind::lost && second.peer == 2 && second.code == errc::peer_dead));
    CHECK(queue.empty());
}

TEST_CASE("due_events: hands over in order, as far as there is room") {
    due_events queue;
    for (const std::uint64_t id : {1u, 2u, 3u}) queue.complete(id, errc::ok, 0);
    std::array<event, 2> events;
    CHECK(queue.hand_over({}) == 0);
    REQUIRE(queue.hand_over(events) == 2);
    CHECK((events[0].id == 1 && events[1].id == 2));
    queue.complete(4, errc::ok, 0); // behind what still waits
    REQUIRE(queue.hand_over(events) == 2);
    CHECK((events[0].id == 3 && events[1].id == 4));
    CHECK(queue.empty());
    CHECK(queue.hand_over(events) == 0);
}

TEST_CASE("due_events: only what was not handed over is found") {
    due_events queue;
    for (const std::uint64_t id : {1u, 2u, 3u}) queue.complete(id, errc::ok, 0);
    queue.lost(3, errc::ok);
    (void)queue.take();
    CHECK_FALSE(queue.has_completed(1));
    CHECK(queue.has_completed(2));
    CHECK_FALSE(queue.has_completed(0)); // the loss of a rank has no id
    CHECK(queue.take().id == 2);
    CHECK_FALSE(queue.has_completed(2));
    CHECK(queue.has_completed(3));
}

TEST_CASE("due_events: one that is never empty keeps its order") {
    due_events queue;
    std::uint64_t in = 0, out = 0;
    while (in != 5) queue.complete(in++, errc::ok, 0);
    while (in != 1'000) {
        queue.complete(in++, errc::ok, 0);
        REQUIRE(queue.take().id == out++);
    }
    while (!queue.empty()) REQUIRE(queue.take().id == out++);
    CHECK(out == in);
}
