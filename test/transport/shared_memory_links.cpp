// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "transport/shared_memory_parts.hpp"
#include <bough/transport/segment/sleep.hpp>
#include <bough/transport/shared_memory/links.hpp>

#include <array>
#include <cstddef>
#include <poll.h>
#include <span>
#include <vector>

using namespace bough;
using namespace bough::detail;
using bough_test::linked_rank;
using bough_test::linked_ranks;

namespace {

bool is_readable(int descriptor) {
    pollfd asked{descriptor, POLLIN, 0};
    return ::poll(&asked, 1, 0) == 1;
}
// Sends 8 bytes, as a transport does.
void send(shared_links& from, rank_t to) {
    const std::array<std::byte, 8> bytes{};
    REQUIRE(from[to].out.push({}, bytes));
    if (!from[to].opened) from.open(from[to]);
    from.nudge(from[to]);
}
// Lets a rank leave.
void leave(std::vector<linked_rank>& ranks, rank_t r) { ranks[r].links.shut_down(); }

} // namespace

TEST_CASE("shared_links: a peer is polled from its first message on") {
    auto ranks = linked_ranks(3, {});
    shared_links &zero = ranks[0].links, &two = ranks[2].links;
    CHECK((zero.rank() == 0 && zero.size() == 3 && zero.senders().empty() && !zero.has_opened()));
    CHECK_FALSE(zero.has_news());
    send(two, 0);
    CHECK((two[0].opened && !two[1].opened));
    CHECK((zero.has_opened() && zero.has_news()));
    CHECK_FALSE(ranks[1].links.has_opened());
    zero.find_opened();
    CHECK(zero.senders() == std::vector{&zero[2]});
    CHECK_FALSE(zero.has_opened());
    CHECK(zero.has_news()); // the message
    event e;
    REQUIRE(zero[2].in.peek(e, 2, zero[2].handle));
    CHECK(&zero.of(e.id) == &zero[2]);
    CHECK_FALSE(zero.has_news());
    send(two, 0);
    CHECK_FALSE(zero.has_opened()); // it is known by now
}

TEST_CASE("shared_links: a refused post is news as soon as there is room, once") {
    auto ranks = linked_ranks(2, {.slots = 2});
    shared_links &zero = ranks[0].links, &one = ranks[1].links;
    send(one, 0);
    send(one, 0);
    CHECK_FALSE(one[0].out.push({}, {}));
    one[0].wants_room = true;
    CHECK_FALSE(one.has_news());
    zero.find_opened();
    event e;
    REQUIRE(zero[1].in.peek(e, 1, zero[1].handle));
    zero[1].in.release(static_cast<std::uint32_t>(e.id % most_slots));
    CHECK(one.has_news());
    CHECK_FALSE(one[0].wants_room);
    CHECK_FALSE(one.has_news());
}

TEST_CASE("shared_links: a rank that sleeps in a loop of its own is rung, once") {
    auto ranks = linked_ranks(2, {});
    shared_links &zero = ranks[0].links, &one = ranks[1].links;
    const int descriptor = zero.descriptor();
    send(one, 0);
    CHECK_FALSE(is_readable(descriptor)); // it does not sleep
    zero.sleeping().store(wants_a_ring);
    send(one, 0);
    CHECK(zero.sleeping().load() == 0);
    CHECK(is_readable(descriptor));
    zero.look(); // takes the ring in
    CHECK_FALSE(is_readable(descriptor));
    CHECK(zero.leaving() == 0);
}

TEST_CASE("shared_links: a peer's loss is reported once, after its messages") {
    auto ranks = linked_ranks(3, {});
    shared_links& zero = ranks[0].links;
    send(ranks[1].links, 0);
    zero.find_opened();
    leave(ranks, 1);
    zero.look();
    CHECK((zero.leaving() == 1 && zero[1].loss.gone && !zero[1].loss.reported));
    CHECK_FALSE(zero.is_alive(1));
    std::array<event, 4> events;
    CHECK(zero.report_lost(events) == 0); // its message comes first
    event e;
    REQUIRE(zero[1].in.peek(e, 1, zero[1].handle));
    CHECK(zero.report_lost({}) == 0); // no room
    REQUIRE(zero.report_lost(events) == 1);
    CHECK((events[0].what == event::kind::lost && events[0].peer == 1 && events[0].code == errc::peer_dead));
    CHECK((zero.leaving() == 0 && zero[1].loss.reported && zero.senders().empty()));
    zero.look();
    CHECK(zero.report_lost(events) == 0);
    CHECK(zero.is_alive(2));
}

TEST_CASE("shared_links: a peer that writes nonsense counts as lost") {
    auto ranks = linked_ranks(2, {});
    shared_links& zero = ranks[0].links;
    send(ranks[1].links, 0);
    zero.find_opened();
    zero[1].in.set_broken();
    CHECK(zero.has_news());
    CHECK((zero[1].loss.gone && zero[1].loss.why == errc::protocol_error));
    zero.lose(zero[1], errc::peer_dead); // the first reason counts
    event e;
    REQUIRE(zero.report_lost(std::span(&e, 1)) == 1);
    CHECK(e.code == errc::protocol_error);
}
