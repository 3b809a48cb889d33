// SPDX-License-Identifier: BSL-1.0
// Control messages arrive whole, wherever their payload is at first, and their slots are free again.
#include "support/catch.hpp"
#include <bough/session/control_messages.hpp>
#include <bough/testing/transport_archetype.hpp>
#include <bough/transport/simulated.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;

namespace {

template <class T>
std::vector<event> polled(T& me) {
    std::vector<event> events(8);
    events.resize(me.poll(events));
    return events;
}
std::vector<std::byte> some_bytes(std::size_t count) {
    std::vector<std::byte> made;
    for (std::size_t i = 0; i != count; ++i) made.push_back(static_cast<std::byte>(i * 7 + 1));
    return made;
}
envelope numbered(std::uint32_t operation) {
    envelope tag;
    tag.operation = operation;
    return tag;
}

} // namespace

TEST_CASE("control messages: a payload that lies in the arrival is copied, and its slot is free at once") {
    simulated world(2, {.slots = 1});
    auto sender = world.connect(0), receiver = world.connect(1);
    unexpected_messages early(receiver, 2, {});
    control_messages in;
    for (std::uint32_t i = 0; i != 10; ++i) {
        const std::vector<std::byte> bytes = some_bytes(2 * i); // the first has none
        while (sender.post_send(1, numbered(i), bytes, i) != posted::complete) {
            CHECK(polled(sender).empty());
            REQUIRE(world.advance()); // false: the only slot would never be free
        }
        std::vector<event> events;
        while ((events = polled(receiver)).empty()) REQUIRE(world.advance());
        REQUIRE(events.size() == 1);
        control_message m;
        REQUIRE(in.read(receiver, early, events[0], m));
        CHECK(m.peer == 0);
        CHECK(m.tag == numbered(i));
        CHECK(m.bytes == bytes);
    }
    CHECK(world.violations() == 0);
}

TEST_CASE("control messages: payloads that come later are given when they have come, each with its own envelope") {
    const testing::loop_group group(2, {.slots = 3});
    std::vector<testing::transport_archetype> ends = group.connect_all();
    unexpected_messages early(ends[1], 2, {});
    control_messages in;
    for (std::uint32_t i = 1; i <= 3; ++i)
        REQUIRE(ends[0].post_send(1, numbered(i), some_bytes(10 * i), i) == posted::complete);
    for (const event& e : polled(ends[1])) {
        control_message m;
        CHECK_FALSE(in.read(ends[1], early, e, m));
    }
    std::uint32_t came = 0;
    for (const event& e : polled(ends[1])) {
        CHECK(e.id >> 32 == control_messages::id_mark);
        control_message m;
        REQUIRE(in.taken(e, m));
        CHECK(m.peer == 0);
        CHECK(m.tag == numbered(++came));
        CHECK(m.bytes == some_bytes(10 * came));
        CHECK_FALSE(in.taken(e, m)); // once
    }
    CHECK(came == 3);
    CHECK(ends[0].post_send(1, numbered(4), {}, 4) == posted::complete); // the slots are free
}

TEST_CASE("control messages: a payload that its sender takes back is no message") {
    const testing::loop_group group(2);
    std::vector<testing::transport_archetype> ends = group.connect_all();
    unexpected_messages early(ends[1], 2, {});
    control_messages in;
    in.reserve(1, 200);
    const std::vector<std::byte> bytes = some_bytes(200); // stays with its sender
    REQUIRE(ends[0].post_send(1, numbered(1), bytes, 1) == posted::pending);
    control_message m;
    const std::vector<event> arrived = polled(ends[1]);
    REQUIRE(arrived.size() == 1);
    CHECK_FALSE(in.read(ends[1], early, arrived[0], m));
    REQUIRE(ends[0].cancel(1) == errc::ok);
    const std::vector<event> ended = polled(ends[1]);
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].code != errc::ok);
    CHECK_FALSE(in.taken(ended[0], m));
    CHECK(m.bytes.empty()); // its memory is for the next message
    CHECK_FALSE(in.taken(ended[0], m));
}

// As by a rank that leaves.
TEST_CASE("control messages: a payload that was taken back before it is read is no message, and no bytes are made up") {
    const std::vector<std::byte> bytes = some_bytes(600); // stays with its sender
    const auto is_none = [&](auto& sender, auto& receiver, auto&& arrivals) {
        unexpected_messages early(receiver, 2, {});
        control_messages in;
        in.reserve(1, 600);
        REQUIRE(sender.post_send(1, numbered(1), bytes, 1) == posted::pending);
        const std::vector<event> arrived = arrivals();
        REQUIRE(arrived.size() == 1);
        REQUIRE(sender.cancel(1) == errc::ok);
        control_message m;
        CHECK_FALSE(in.read(receiver, early, arrived[0], m));
        CHECK(in.under_way() == 0);
        CHECK(m.bytes.empty()); // its memory is for the next message
    };
    const testing::loop_group group(2); // the take fails
    std::vector<testing::transport_archetype> ends = group.connect_all();
    is_none(ends[0], ends[1], [&] { return polled(ends[1]); });
    simulated world(2); // the claim fails
    auto sender = world.connect(0), receiver = world.connect(1);
    is_none(sender, receiver, [&] {
        std::vector<event> events;
        while ((events = polled(receiver)).empty() && world.advance()) {
        }
        return events;
    });
}

TEST_CASE("control messages: memory of messages that were read serves for the next ones") {
    simulated world(2);
    auto sender = world.connect(0), receiver = world.connect(1);
    unexpected_messages early(receiver, 2, {});
    control_messages in;
    in.reserve(1, 24);
    CHECK(in.room() == 1);
    const std::byte* memory = nullptr;
    for (std::uint32_t i = 1; i <= 3; ++i) {
        REQUIRE(sender.post_send(1, numbered(i), some_bytes(24), i) == posted::complete);
        std::vector<event> events;
        while ((events = polled(receiver)).empty()) REQUIRE(world.advance());
        control_message m;
        REQUIRE(in.read(receiver, early, events[0], m));
        if (memory == nullptr) memory = m.bytes.data();
        CHECK(m.bytes.data() == memory);
        in.recycle(std::move(m.bytes));
    }
    in.unreserve(1, 24);
    CHECK(in.room() == 0);
}
