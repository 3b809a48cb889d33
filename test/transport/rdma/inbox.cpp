// SPDX-License-Identifier: BSL-1.0
// Frames that come: what belongs to the group, and in which order it is heard.
#include "support/catch.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include <bough/transport/rdma/inbox.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;
using detail::fabric_frame;

namespace {

struct listener : bough_test::lone_rank {
    explicit listener(std::uint32_t window = 4) : lone_rank(true, window) { REQUIRE(core.in.prepare()); }

    // The sequence numbers of the frames that are due.
    std::vector<std::uint32_t> heard() {
        std::vector<std::uint32_t> numbers;
        while (core.in.has_next()) {
            detail::fabric_buffer& b = core.in.next();
            numbers.push_back(detail::fabric_arrival(b).head.sequence);
            core.in.put_back(b);
        }
        return numbers;
    }
};

} // namespace

TEST_CASE("inbox: frames of a peer are heard in their order, each once") {
    listener one;
    one.hear(1, fabric_frame::room, 1);
    CHECK_FALSE(one.core.in.has_next());
    one.hear(2, fabric_frame::room, 0);
    CHECK(one.heard() == std::vector<std::uint32_t>{0}); // of the other peer
    one.hear(1, fabric_frame::room, 0);
    one.hear(1, fabric_frame::room, 2);
    CHECK(one.heard() == std::vector<std::uint32_t>{0, 1, 2});
    one.hear(1, fabric_frame::room, 1);
    CHECK(one.heard().empty());
    CHECK(one.core.in.strangers() == 1);
}

TEST_CASE("inbox: what is not of this group is dropped and counted, and its buffer is posted again") {
    listener one;
    const std::size_t posted = one.device.posted.size();
    REQUIRE(posted > 4);
    one.hear(1, fabric_frame::room, 0, 0, 8);                                // of another job
    one.hear(3, fabric_frame::room, 0);                                      // there is no such rank
    one.hear(0, fabric_frame::room, 0);                                      // this rank itself
    one.hear(1, fabric_frame::go, 0);                                        // without a place
    one.hear(1, fabric_frame::message, 0, 0, 9, std::vector<std::byte>(65)); // too long
    CHECK(one.heard().empty());
    CHECK(one.core.in.strangers() == 5);
    CHECK(one.device.posted.size() == posted);
}

TEST_CASE("inbox: greetings and farewells have no order, and what lost ranks say is not heard") {
    listener one;
    CHECK(one.core.in.missing() == 1);
    one.hear(1, fabric_frame::hello, 77);
    CHECK((one.core.in.has_met(1) && one.core.in.missing() == 2));
    one.hear(2, fabric_frame::hello, 78);
    CHECK(one.core.in.missing() == 3);
    CHECK(one.core.presence.lose(1));
    one.hear(1, fabric_frame::room, 0);
    CHECK(one.heard().empty());
    CHECK_FALSE(one.core.in.has_waved(1));
    one.hear(1, fabric_frame::farewell, 79);
    CHECK(one.core.in.has_waved(1));
    CHECK(one.core.in.strangers() == 0);
}

TEST_CASE("inbox: a frame tells how many messages its sender has used up, when its turn comes") {
    listener one(1);
    one.core.credits.sent(1);
    CHECK_FALSE(one.core.credits.has_room(1));
    one.hear(1, fabric_frame::room, 0, 1);
    CHECK_FALSE(one.core.credits.has_room(1));
    CHECK(one.heard().size() == 1);
    CHECK(one.core.credits.has_room(1));
}

TEST_CASE("inbox: posts as many receives as the device takes, and the rest when it takes them") {
    listener one(16); // wants 40
    CHECK(one.device.posted.size() == 40);
    one.device.room_for_receives = 39;
    one.hear(1, fabric_frame::room, 0);
    CHECK(one.device.posted.size() == 39);
    one.hear(1, fabric_frame::room, 1);
    CHECK(one.device.posted.size() == 39);
    one.device.room_for_receives = 100;
    one.core.in.refill();
    CHECK(one.device.posted.size() == 40);
    one.core.in.close();
    (void)one.heard();
    one.hear(1, fabric_frame::room, 2);
    (void)one.heard();
    CHECK(one.device.posted.size() == 39);
}
