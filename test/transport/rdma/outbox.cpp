// SPDX-License-Identifier: BSL-1.0
// Frames that leave: what is refused, queued, numbered and said again.
#include "support/catch.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include <bough/transport/rdma/outbox.hpp>

#include <cstdint>
#include <vector>

using namespace bough;
using detail::fabric_frame, detail::fabric_result;

namespace {

struct speaker : bough_test::lone_rank {
    explicit speaker(std::uint32_t window = 4) : lone_rank(true, window) { REQUIRE(core.out.prepare()); }

    fabric_result send(rank_t to) { return core.out.send(to, fabric_frame::message, {}, {}); }
    // The device has done with the n-th frame.
    void is_out(std::size_t n) { core.out.sent(device.sent[n].op->index); }
};

} // namespace

TEST_CASE("outbox: frames to each peer are numbered, greetings and farewells are not") {
    speaker one;
    one.core.out.say(1, fabric_frame::hello);
    for (const rank_t to : {1u, 2u, 1u}) CHECK(one.send(to) == fabric_result::ok);
    std::vector<std::uint32_t> numbers;
    for (const auto& f : one.device.sent) numbers.push_back(f.head.sequence);
    CHECK(numbers == std::vector<std::uint32_t>{0, 0, 0, 1});
    CHECK((one.device.sent[1].head.job == 9 && one.device.sent[1].head.from == 0));
}

TEST_CASE("outbox: a word that the device does not take is said later, and messages wait behind it") {
    speaker one;
    one.device.answer = fabric_result::full;
    CHECK(one.send(1) == fabric_result::full);
    one.core.out.say(1, fabric_frame::room);
    CHECK_FALSE(one.core.out.has_room(1));
    CHECK(one.core.out.has_room(2));
    CHECK(one.core.out.unsent());
    CHECK((one.core.out.accepted() == 1 && one.core.out.handed_over(1) == 0 && one.core.out.handed_over(2) == 1));
    one.core.out.flush();
    CHECK(one.device.sent.empty());
    one.device.answer = fabric_result::ok;
    one.core.out.flush();
    REQUIRE(one.device.sent.size() == 1);
    CHECK(one.device.sent[0].head.kind == fabric_frame::room);
    CHECK(one.core.out.has_room(1));
    CHECK((one.core.out.accepted() == 1 && one.core.out.handed_over(1) == 1));
}

TEST_CASE("outbox: what the device sends only when it is called has not left before it says so") {
    speaker one;
    one.device.alone = false;
    CHECK((one.send(1) == fabric_result::ok && one.send(1) == fabric_result::ok));
    CHECK(one.core.out.unsent());
    CHECK((one.core.out.handed_over(1) == 0 && one.core.out.handed_over(2) == 2));
    one.is_out(0);
    CHECK((one.core.out.handed_over(1) == 1 && !one.core.out.all_sent()));
    one.is_out(1);
    CHECK((one.core.out.handed_over(1) == 2 && one.core.out.all_sent()));
}

TEST_CASE("outbox: a peer that takes nothing leaves a frame to each other peer") {
    speaker one{64};
    int to_1 = 0;
    for (; one.send(1) == fabric_result::ok; ++to_1) {
    }
    CHECK((to_1 == 32 && one.core.out.has_room(1))); // all buffers are in use
    CHECK(one.send(2) == fabric_result::ok);
    CHECK(one.send(2) == fabric_result::full);
    one.is_out(32);
    CHECK(one.send(2) == fabric_result::ok);
}

TEST_CASE("outbox: credits are given back once half a window is used up, not to a lost rank") {
    speaker one;
    one.core.credits.use(1);
    one.core.out.give_room(1);
    CHECK(one.device.sent.empty());
    one.core.credits.use(1);
    one.core.out.give_room(1);
    REQUIRE(one.device.sent.size() == 1);
    CHECK((one.device.sent[0].head.kind == fabric_frame::room && one.device.sent[0].head.used == 2));
    for (int i = 0; i != 2; ++i) one.core.credits.use(2);
    CHECK(one.core.presence.lose(2));
    one.core.out.give_room(2);
    CHECK(one.device.sent.size() == 1);
}

TEST_CASE("outbox: while ranks meet, hello is said again; afterwards a peer that cannot be reached is named") {
    speaker one;
    one.core.out.set_meeting(true);
    one.core.out.say(1, fabric_frame::hello);
    one.core.out.not_sent(one.device.sent[0].op->index);
    rank_t r = no_rank;
    CHECK_FALSE(one.core.out.next_broken(r));
    one.core.out.flush();
    REQUIRE(one.device.sent.size() == 2);
    CHECK(one.device.sent[1].head.kind == fabric_frame::hello);
    one.core.out.set_meeting(false);
    one.core.out.not_sent(one.device.sent[1].op->index);
    REQUIRE(one.core.out.next_broken(r));
    CHECK(r == 1);
    CHECK_FALSE(one.core.out.next_broken(r));
    one.device.answer = fabric_result::broken;
    CHECK(one.send(2) == fabric_result::broken);
    CHECK((one.core.out.next_broken(r) && r == 2));
}

TEST_CASE("outbox: a rank is parting from its bye on, unless the peer is dead or was never told") {
    speaker one;
    one.core.out.say(1, fabric_frame::bye);
    one.device.answer = fabric_result::full;
    one.core.out.say(2, fabric_frame::bye);
    CHECK((one.core.out.is_parting(1) && one.core.out.is_parting(2)));
    CHECK(one.core.presence.lose(2));
    one.core.out.flush(); // it has left, and bye is not said to it any more
    CHECK_FALSE(one.core.out.is_parting(2));
    CHECK_FALSE(one.core.out.unsent());
    CHECK_FALSE(one.core.out.all_sent()); // the bye to rank 1 is under way
    one.core.presence.suspect(1);
    CHECK(one.core.out.is_parting(1));
    CHECK(one.core.presence.lose(1));
    CHECK_FALSE(one.core.out.is_parting(1));
    CHECK(one.core.out.all_sent()); // frames to the dead do not count
}

TEST_CASE("outbox: a closed one says nothing") {
    speaker one;
    one.core.out.close();
    one.core.out.say(1, fabric_frame::room);
    CHECK((one.device.sent.empty() && one.core.out.accepted() == 0 && one.core.out.is_closed()));
}
