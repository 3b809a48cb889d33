// SPDX-License-Identifier: BSL-1.0
// The life of a long payload at its sender, over a device that does what the test says.
#include "support/catch.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include <bough/transport/rdma/pushes.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;
using bough_test::scripted_messenger;
using detail::fabric_frame, detail::fabric_place, detail::fabric_result;

namespace {

struct sender : bough_test::lone_rank {
    detail::fabric_pushes<scripted_messenger> pushes;
    std::vector<std::byte> bytes = std::vector<std::byte>(2500);

    explicit sender(bool writes = true) : lone_rank(writes), pushes(core) {}

    void announce(std::uint64_t id, rank_t to = 1) {
        REQUIRE(pushes.announce(to, {}, bytes, id) == posted::pending);
        REQUIRE(device.sent.back().head.kind == fabric_frame::announcement);
    }
    // The event that is due: the code of that operation.
    errc told(std::uint64_t id) {
        REQUIRE_FALSE(core.events.empty());
        const event e = core.events.take();
        CHECK((e.what == event::kind::complete && e.id == id));
        return e.code;
    }
};

} // namespace

TEST_CASE("pushes: a payload goes out in pieces once it is asked for") {
    sender one;
    one.announce(7);
    CHECK(one.device.written.empty());
    one.pushes.wanted(1, {.address = 100, .key = 3, .number = 0, .ticket = 5});
    std::uint64_t at = 100;
    for (const std::size_t bytes : {1000u, 1000u, 500u}) {
        CHECK(one.core.events.empty());
        const auto piece = one.device.written.back();
        CHECK((piece.to == 1 && piece.bytes == bytes && piece.at == at));
        at += bytes;
        one.pushes.pushed(*piece.op);
    }
    CHECK(one.told(7) == errc::ok);
    CHECK(one.pushes.are_over());
    CHECK(one.device.written.size() == 3);
}

TEST_CASE("pushes: where pieces travel as tagged messages, each has a tag of its own") {
    sender one(false);
    one.announce(7);
    one.pushes.wanted(1, {.number = 0, .ticket = 5});
    one.pushes.pushed(*one.device.written.back().op);
    REQUIRE(one.device.written.size() == 2);
    CHECK(one.device.written[0].at == 5);
    CHECK(one.device.written[1].at == (std::uint64_t{1000} << 32 ^ 5));
}

TEST_CASE("pushes: what was taken back is not sent, and who asks for it is told so") {
    sender one;
    one.announce(7);
    CHECK(one.pushes.cancel(7));
    CHECK(one.told(7) == errc::cancelled);
    CHECK_FALSE(one.pushes.cancel(7));
    one.pushes.wanted(1, {.number = 0, .ticket = 5});
    CHECK(one.device.written.empty());
    CHECK((one.device.sent.back().head.kind == fabric_frame::none && one.device.sent.back().place.ticket == 5));
    CHECK(one.core.events.empty());
}

TEST_CASE("pushes: what is under way is not taken back") {
    sender one;
    one.announce(7);
    one.pushes.wanted(1, {});
    CHECK(one.pushes.cancel(7));
    CHECK(one.core.events.empty());
    while (one.core.events.empty()) one.pushes.pushed(*one.device.written.back().op);
    CHECK(one.told(7) == errc::ok);
}

TEST_CASE("pushes: a receiver that does not want a payload ends it well") {
    sender one;
    one.announce(7);
    one.announce(8);
    one.pushes.unwanted(1, {.number = 1});
    CHECK(one.told(8) == errc::ok);
    one.pushes.unwanted(2, {.number = 0}); // to another rank nothing was announced
    CHECK(one.core.events.empty());
    CHECK_FALSE(one.pushes.are_over());
}

TEST_CASE("pushes: what the device does not take is tried again, and a peer that it cannot reach is suspected") {
    sender one;
    one.announce(7);
    one.device.answer = fabric_result::full;
    one.pushes.wanted(1, {});
    one.pushes.go_on();
    CHECK(one.device.written.empty());
    one.device.answer = fabric_result::ok;
    one.pushes.go_on();
    CHECK(one.device.written.size() == 1);
    one.pushes.go_on();
    CHECK(one.device.written.size() == 1); // it was taken
    CHECK(one.core.presence.is_here(1));
    one.device.answer = fabric_result::broken;
    one.pushes.pushed(*one.device.written[0].op);
    CHECK(one.core.presence.seems_dead(1));
}

TEST_CASE("pushes: to a lost rank nothing goes, but what the device has ends when the device says so") {
    sender one;
    one.announce(7);
    one.announce(8);
    one.announce(9, 2);
    one.pushes.wanted(1, {.number = 0});
    CHECK(one.core.presence.lose(1));
    one.pushes.lose(1);
    CHECK(one.told(8) == errc::peer_dead);
    CHECK(one.core.events.empty());
    one.pushes.bury(); // too early
    CHECK(one.core.events.empty());
    one.pushes.failed(*one.device.written[0].op);
    CHECK(one.told(7) == errc::peer_dead);
    one.pushes.wanted(2, {.number = 0});
    CHECK(one.device.written.back().to == 2);
}

TEST_CASE("pushes: a rank that leaves sends nothing that has not been asked for") {
    sender one;
    one.announce(7);
    one.announce(8);
    one.pushes.wanted(1, {.number = 1});
    one.pushes.take_back();
    CHECK_FALSE(one.pushes.are_over());
    while (one.core.events.empty()) one.pushes.pushed(*one.device.written.back().op);
    CHECK(one.told(8) == errc::ok);
    CHECK(one.pushes.are_over());
    one.pushes.wanted(1, {.number = 0});
    CHECK(one.device.sent.back().head.kind == fabric_frame::none);
}
