// SPDX-License-Identifier: BSL-1.0
// Messages that come before their operation: where they stay, when they are copied, and that their memory is used again.
#include "support/catch.hpp"
#include <bough/session/unexpected.hpp>
#include <bough/testing/transport_archetype.hpp>
#include <bough/transport/simulated.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <vector>

using namespace bough;

namespace {

using link = simulated::endpoint;

// Rank 0 gets messages from the others. Payloads are eight bytes that say their number.
struct mailbox {
    explicit mailbox(const early_limits& limits = {}, std::uint32_t slots = 16)
        : world(3, {.slots = slots}), ends{world.connect(0), world.connect(1), world.connect(2)},
          early(ends[0], limits) {}

    // Sends a message, and gives the event of its arrival.
    event arrival(rank_t from, std::uint64_t number) {
        envelope tag;
        tag.operation = static_cast<std::uint32_t>(number);
        std::array<event, 1> found;
        while (ends[from].post_send(0, tag, std::as_bytes(std::span(&number, 1)), number) != posted::complete) {
            CHECK(ends[from].poll(found) == 0);
            REQUIRE(world.advance()); // false: no slot will ever be free
        }
        while (ends[0].poll(found) == 0) REQUIRE(world.advance());
        return found[0];
    }
    void keep(rank_t from, std::uint64_t number) { early.keep(arrival(from, number)); }
    // How many of this sender's messages lie in the transport.
    std::size_t in_place(rank_t from) const {
        return early.count([&](const event& e) { return e.peer == from && e.id < std::uint64_t{1} << 63; });
    }
    // Takes out the first message, which must be this one.
    void take(rank_t from, std::uint64_t number) {
        event e;
        REQUIRE(early.next(e, [&](const event& x) { return x.peer == from; }));
        CHECK(e.envelope.operation == number);
        REQUIRE(early.claim(e.id));
        std::uint64_t came = 0;
        REQUIRE(e.bytes == sizeof came);
        std::memcpy(&came, e.data, sizeof came);
        CHECK(came == number);
        early.release(e.id);
    }

    simulated world;
    std::array<link, 3> ends;
    unexpected_messages<link> early;
};
constexpr std::uint64_t many = 12; // more than stay in place

} // namespace

TEST_CASE("unexpected: a few messages of a sender stay where they landed; more are copied out, all of that sender's") {
    mailbox box({.in_place = 4});
    for (std::uint64_t i = 1; i <= 4; ++i) box.keep(1, i);
    CHECK(box.in_place(1) == 4);
    CHECK(box.early.copied_bytes() == 0);
    box.keep(2, 100);
    CHECK(box.in_place(1) == 4); // each sender counts for itself
    box.keep(1, 5);
    CHECK(box.in_place(1) == 0);
    CHECK(box.in_place(2) == 1);
    CHECK(box.early.copied_bytes() >= 5 * sizeof(std::uint64_t));
    for (std::uint64_t i = 1; i <= 5; ++i) box.take(1, i);
    box.take(2, 100);
    CHECK(box.early.empty());
    CHECK(box.early.copied_bytes() == 0);
    CHECK(box.world.violations() == 0);
}

TEST_CASE("unexpected: copies free the slots of the transport, so that more can come than it has room for") {
    mailbox box({.in_place = 1}, 2);
    for (std::uint64_t i = 1; i <= many; ++i) box.keep(1, i);
    for (std::uint64_t i = 1; i <= many; ++i) box.take(1, i);
    CHECK(box.world.violations() == 0);
}

TEST_CASE("unexpected: messages behind which a usable one came are copied out at once, and all of them on demand") {
    mailbox box;
    box.keep(1, 1);
    box.keep(2, 2);
    box.early.overtaken(1);
    CHECK(box.in_place(1) == 0);
    CHECK(box.in_place(2) == 1);
    box.early.copy_all();
    CHECK(box.in_place(2) == 0);
    box.take(1, 1);
    box.take(2, 2);
    CHECK(box.world.violations() == 0);
}

TEST_CASE("unexpected: a message that an operation holds is copied out as others are, once") {
    mailbox box;
    const event e = box.arrival(1, 77);
    held_message held{.data = e.data, .bytes = e.bytes, .handle = e.id, .peer = e.peer, .present = true};
    box.early.detach(held);
    CHECK(held.handle != e.id);
    CHECK(held.data != e.data);
    const held_message copy = held;
    box.early.detach(held);
    CHECK(held.handle == copy.handle);
    std::uint64_t came = 0;
    std::memcpy(&came, held.data, sizeof came);
    CHECK(came == 77);
    box.early.release(held.handle);
    CHECK(box.early.copied_bytes() == 0);
    CHECK(box.world.violations() == 0);
}

TEST_CASE("unexpected: copies keep to the limits, of a peer and in all; beyond them messages stay in the transport") {
    const std::uint64_t least = 100; // a copy costs more than its bytes
    for (const auto& [limits, of_1, of_2] :
         {std::tuple{early_limits{.in_place = 0, .bytes_per_peer = 3 * least}, true, true},
          std::tuple{early_limits{.in_place = 0, .bytes = 3 * least}, true, false},
          std::tuple{early_limits{.in_place = 0, .bytes_per_peer = 0}, false, false}}) {
        mailbox box(limits);
        for (std::uint64_t i = 1; i <= 5; ++i) box.keep(1, i);
        CHECK((box.in_place(1) < 5) == of_1);
        CHECK(box.in_place(1) > 0);
        for (std::uint64_t i = 1; i <= 5; ++i) box.keep(2, i);
        CHECK((box.in_place(2) < 5) == of_2);
        CHECK(box.early.copied_bytes() <= limits.bytes);
        for (std::uint64_t i = 1; i <= 5; ++i) box.take(1, i), box.take(2, i);
        CHECK(box.world.violations() == 0);
    }
}

TEST_CASE("unexpected: messages that came early as often as before allocate nothing") {
    mailbox box({}, 64);
    std::uint64_t after_first = 0;
    for (int round = 0; round != 5; ++round) {
        for (std::uint64_t i = 0; i != many; ++i) box.keep(1, i);
        for (std::uint64_t i = 0; i != many; ++i) box.take(1, i);
        if (round == 0) after_first = box.early.allocations();
    }
    CHECK(after_first != 0);
    CHECK(box.early.allocations() == after_first);
}

TEST_CASE("unexpected: messages that are dropped are released, wherever they are") {
    mailbox box({}, 4);
    for (int round = 0; round != 3; ++round) {
        box.keep(1, 1);
        box.early.copy_all();
        box.keep(1, 2);
        box.keep(2, 3);
        CHECK(box.early.any([](const event& e) { return e.envelope.operation == 2; }));
        CHECK(box.early.drop([](const event& e) { return e.peer == 1; }) == 2);
        CHECK_FALSE(box.early.any([](const event& e) { return e.peer == 1; }));
        CHECK(box.early.copied_bytes() == 0);
        box.take(2, 3);
    }
    CHECK(box.world.violations() == 0);
}

TEST_CASE("unexpected: where payloads come later, nothing is copied") {
    const testing::loop_group group(2, {.slots = 20});
    std::vector<testing::transport_archetype> ends = group.connect_all();
    unexpected_messages early(ends[1], {});
    for (std::uint32_t i = 0; i != many; ++i) {
        envelope tag;
        tag.operation = i;
        REQUIRE(ends[0].post_send(1, tag, {}, i) == posted::complete);
        std::array<event, 1> found;
        REQUIRE(ends[1].poll(found) == 1);
        early.keep(found[0]);
    }
    early.overtaken(0);
    early.copy_all();
    CHECK(early.copied_bytes() == 0);
    CHECK(early.count([](const event&) { return true; }) == many);
    CHECK(early.drop([](const event&) { return true; }) == many);
    for (std::uint32_t i = 0; i != 20; ++i) CHECK(ends[0].post_send(1, {}, {}, i) == posted::complete); // all slots
}
