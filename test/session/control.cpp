// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/control.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

using namespace bough;
using detail::abort_segment;
using detail::control;
using detail::control_segment;
using loop_end = testing::transport_archetype;

namespace {

// One rank: a transport, and all of a session that control messages need.
struct rank_of {
    rank_of(const testing::loop_group& group, rank_t r)
        : members(r, 3), messages(transport, members), early(transport, 3, {}), transport(group.connect(r)) {}

    void say(rank_t to, std::uint32_t number, std::size_t bytes = 4) {
        envelope call;
        call.operation = number;
        call.epoch = 77; // replaced
        messages.send(to, control_segment, call, std::vector<std::byte>(bytes, std::byte{9}));
    }
    // Polls; returns what has come.
    std::vector<control_message> heard() {
        std::vector<control_message> all;
        std::array<event, 8> events;
        for (std::size_t i = 0, found = transport.poll(events); i != found; ++i) {
            control_message m;
            const event& e = events[i];
            const bool is_there = e.what == event::kind::arrived
                                      ? messages.read(early, e, m)
                                      : control<loop_end>::owns(e) && messages.completed(e, m);
            if (is_there) all.push_back(std::move(m));
        }
        return all;
    }

    detail::membership members;
    control<loop_end> messages;
    unexpected_messages<loop_end> early;
    loop_end transport;
};
struct three {
    explicit three(const testing::loop_options& options = {}) : group(3, options) {}
    testing::loop_group group;
    rank_of zero{group, 0}, one{group, 1};
    loop_end two = group.connect(2); // keeps its messages
};

} // namespace

TEST_CASE("control: a message says its epoch, its kind and its call, and comes whole") {
    three all;
    all.zero.members.begin_epoch();
    envelope call;
    call.operation = 4;
    call.context = 2;
    const std::array bytes{std::byte{1}, std::byte{2}};
    all.zero.messages.send(1, abort_segment, call, bytes);
    CHECK_FALSE(all.zero.messages.has_to_send());
    CHECK(all.one.heard().empty()); // its payload is under way
    const auto came = all.one.heard();
    REQUIRE(came.size() == 1);
    CHECK(came[0].peer == 0);
    CHECK(came[0].tag.epoch == all.zero.members.epoch());
    CHECK(came[0].tag.segment == abort_segment);
    CHECK(came[0].tag.operation == 4);
    CHECK(came[0].tag.context == 2);
    CHECK(came[0].bytes == std::vector<std::byte>(bytes.begin(), bytes.end()));
}

TEST_CASE("control: what the transport refuses waits, and comes in its order") {
    three all({.slots = 1});
    for (std::uint32_t n = 1; n != 5; ++n) all.zero.say(1, n);
    all.zero.say(2, 1);
    CHECK(all.zero.messages.has_to_send());
    CHECK(all.zero.messages.holds_for(1));
    CHECK_FALSE(all.zero.messages.has_told(1));
    CHECK_FALSE(all.zero.messages.holds_for(2)); // another rank is not held up
    CHECK(all.zero.messages.has_told(2));
    std::vector<std::uint32_t> numbers;
    for (int i = 0; i != 20; ++i) {
        for (const control_message& m : all.one.heard()) numbers.push_back(m.tag.operation);
        all.zero.messages.flush();
    }
    CHECK(numbers == std::vector<std::uint32_t>{1, 2, 3, 4});
    CHECK_FALSE(all.zero.messages.has_to_send());
    CHECK(all.zero.messages.has_told(1));
}

TEST_CASE("control: who asks whether messages have left is not kept waiting by later ones") {
    three all({.slots = 1});
    for (std::uint32_t n = 1; n != 3; ++n) all.zero.say(1, n);
    std::uint64_t last = 0;
    CHECK_FALSE(all.zero.messages.has_told(1, last)); // the second one waits
    for (int i = 0; i != 20; ++i) (void)all.one.heard(), all.zero.messages.flush();
    CHECK(all.zero.messages.has_told(1, last));
    for (std::uint32_t n = 3; n != 5; ++n) all.zero.say(1, n);
    CHECK_FALSE(all.zero.messages.has_told(1));
    CHECK(all.zero.messages.has_told(1, last));
    last = 0;
    CHECK_FALSE(all.zero.messages.has_told(1, last));
    CHECK(all.zero.messages.has_told(0, last)); // itself
}

TEST_CASE("control: a message that its transport has borrowed is kept until it has ended") {
    three all;
    all.zero.say(1, 1, 500);
    CHECK(all.zero.messages.has_to_send());
    CHECK_FALSE(all.zero.messages.holds_for(1)); // the transport has it
    std::vector<control_message> came;
    for (int i = 0; i != 4; ++i) {
        CHECK(all.zero.heard().empty()); // the end of its post is no message
        for (control_message& m : all.one.heard()) came.push_back(std::move(m));
    }
    REQUIRE(came.size() == 1);
    CHECK(came[0].bytes == std::vector<std::byte>(500, std::byte{9}));
    CHECK_FALSE(all.zero.messages.has_to_send());
}

TEST_CASE("control: nothing is left for a rank that is lost, and for this one") {
    three all({.slots = 1});
    all.zero.say(1, 1);
    all.zero.say(1, 2);
    REQUIRE(all.zero.messages.holds_for(1));
    all.zero.messages.forget(1);
    CHECK_FALSE(all.zero.messages.has_to_send());
    all.zero.say(1, 3);
    CHECK_FALSE(all.zero.messages.has_told(1));
    all.zero.members.lose(1, errc::peer_dead);
    CHECK(all.zero.messages.has_told(1));
    CHECK(all.zero.messages.has_told(0));
}

TEST_CASE("control: events of operations are not its own") {
    event e;
    e.what = event::kind::complete;
    e.id = std::uint64_t{0x7fff'ffffu} << 32 | 3; // the last ticket of an operation
    CHECK_FALSE(control<loop_end>::owns(e));
    e.id = std::uint64_t{outbox::id_mark} << 32;
    CHECK(control<loop_end>::owns(e));
    e.id = std::uint64_t{control_messages::id_mark} << 32;
    CHECK(control<loop_end>::owns(e));
}

TEST_CASE("control: in a new epoch the inbox has messages of that epoch only") {
    three all;
    for (const std::uint32_t epoch : {1u, 2u, 3u}) {
        control_message m;
        m.tag.epoch = epoch;
        all.zero.messages.keep(std::move(m));
    }
    all.zero.members.begin_epoch();
    all.zero.messages.begin_epoch();
    REQUIRE(all.zero.messages.inbox().size() == 1);
    CHECK(all.zero.messages.inbox()[0].tag.epoch == 2);
}

TEST_CASE("control: messages are heard in order, and stay until they are used up") {
    three all;
    for (const std::uint32_t n : {1u, 2u, 3u, 4u}) {
        control_message m;
        m.tag.operation = n;
        all.zero.messages.keep(std::move(m));
    }
    std::vector<std::uint32_t> heard;
    const auto use = [&](const control_message& m) {
        heard.push_back(m.tag.operation);
        if (m.tag.operation == 3 && heard.size() < 4) throw std::bad_alloc();
        return m.tag.operation % 2 == 1;
    };
    CHECK_THROWS_AS(all.zero.messages.hear(use), std::bad_alloc);
    CHECK(heard == std::vector<std::uint32_t>{1, 2, 3});
    CHECK(all.zero.messages.inbox().size() == 3); // without the first one
    all.zero.messages.hear(use);
    CHECK(heard == std::vector<std::uint32_t>{1, 2, 3, 2, 3, 4});
    REQUIRE(all.zero.messages.inbox().size() == 2);
    CHECK(all.zero.messages.inbox()[0].tag.operation == 2);
    CHECK(all.zero.messages.inbox()[1].tag.operation == 4);
}

TEST_CASE("control: memory that was reserved serves message after message") {
    three all;
    all.one.messages.reserve(1, 500);
    const std::size_t room = all.one.messages.inbox().capacity();
    CHECK(room >= 1);
    const std::byte* memory = nullptr;
    for (std::uint32_t n = 1; n != 4; ++n) {
        all.zero.say(1, n, 500);
        std::vector<control_message> came;
        for (int i = 0; i != 4; ++i) {
            (void)all.zero.heard();
            for (control_message& m : all.one.heard()) came.push_back(std::move(m));
        }
        REQUIRE(came.size() == 1);
        if (memory != nullptr) CHECK(came[0].bytes.data() == memory);
        memory = came[0].bytes.data();
        all.one.messages.recycle(std::move(came[0].bytes));
    }
    all.one.messages.unreserve(1, 500);
}

TEST_CASE("control: memory for both ways is reserved at once, or not at all") {
    three all;
    all.zero.messages.reserve(3, 100);
    CHECK(all.zero.messages.inbox().capacity() >= 3);
    CHECK_THROWS(all.zero.messages.reserve(1, std::numeric_limits<std::size_t>::max() / 2 + 1));
    all.zero.messages.unreserve(3, 100); // would fail if it were not reserved
}
