// SPDX-License-Identifier: BSL-1.0
// Messages that come before their operation: where they stay, when they are copied, and that their memory is used again.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/session/unexpected.hpp>
#include <bough/testing/transport_archetype.hpp>
#include <bough/transport/simulated.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using link = simulated::endpoint;

// Rank 0 gets messages from the others. Payloads are eight bytes that say their number.
struct mailbox {
    explicit mailbox(const early_limits& limits = {}, std::uint32_t slots = 16)
        : world(3, {.slots = slots}), ends{world.connect(0), world.connect(1), world.connect(2)},
          early(ends[0], 3, limits) {}

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

// Messages can only be taken, and each take ends with a later poll.
struct late_end : testing::transport_archetype {
    explicit late_end(testing::transport_archetype&& end) : transport_archetype(std::move(end)) {}
    bool claim(std::uint64_t) { return false; }
};
struct late_mailbox {
    explicit late_mailbox(const early_limits& limits = {}, std::uint32_t slots = 4)
        : group(2, {.slots = slots, .eager_bytes = 8}), early(mine, 2, limits), mine(group.connect(0)),
          theirs(group.connect(1)) {}

    // Rank 1 sends a message of this call. Says whether there was room for it.
    bool send(std::uint32_t number, std::vector<std::byte> bytes, std::uint32_t segment = 0) {
        sent.push_back(std::move(bytes)); // the transport reads it there
        return theirs.post_send(0, call_of(number, segment), sent.back(), number) != posted::would_block;
    }
    // Keeps what has come. Returns the calls that may be used now, as their payloads have come.
    std::vector<std::uint32_t> poll() {
        std::vector<std::uint32_t> calls;
        std::array<event, 8> found;
        const std::size_t count = mine.poll(found);
        for (std::size_t i = 0; i != count; ++i) {
            envelope call;
            if (found[i].what == event::kind::arrived)
                early.keep(found[i]);
            else if (early.owns(found[i]) && early.taken(found[i], call))
                calls.push_back(call.operation);
        }
        return calls;
    }
    static envelope call_of(std::uint32_t number, std::uint32_t segment = 0) {
        envelope call;
        call.operation = number;
        call.segment = segment;
        return call;
    }
    bool next(event& e, std::uint32_t number) { return early.next_of(e, call_of(number)); }

    testing::loop_group group;
    std::deque<std::vector<std::byte>> sent;
    unexpected_messages<late_end> early;
    late_end mine;
    testing::transport_archetype theirs;
};
std::vector<std::byte> bytes_of(std::uint32_t number) { return std::vector<std::byte>(300, std::byte(number)); }

// Releases messages, and then throws as often as `fails` says.
struct poor_end : simulated::endpoint {
    explicit poor_end(endpoint&& end) : endpoint(std::move(end)) {}
    int fails = 0, releases = 0;
    void release(std::uint64_t handle) {
        endpoint::release(handle);
        ++releases;
        if (fails != 0 && fails-- != 0) throw std::bad_alloc();
    }
};

} // namespace

TEST_CASE("unexpected: a message is released once, also if the transport has no memory to tell its sender") {
    simulated world(2, {.slots = 4});
    poor_end mine(world.connect(0));
    simulated::endpoint theirs = world.connect(1);
    unexpected_messages<poor_end> early(mine, 2, {});
    const std::uint64_t payload = 7;
    REQUIRE(theirs.post_send(0, {}, std::as_bytes(std::span(&payload, 1)), 1) == posted::complete);
    std::array<event, 1> found;
    while (mine.poll(found) == 0) REQUIRE(world.advance());
    mine.fails = 1;
    SECTION("it is early") {
        early.keep(found[0]);
        CHECK_THROWS_AS(early.copy_all(true), std::bad_alloc);
        early.copy_all(true);
        CHECK(early.drop([](const event&) { return true; }) == 1);
    }
    SECTION("an operation holds it") {
        held_message held;
        held.peer = 1, held.handle = found[0].id, held.data = found[0].data, held.bytes = found[0].bytes;
        CHECK_THROWS_AS(early.detach(held, true), std::bad_alloc);
        CHECK(held.handle != found[0].id);
        early.release(held.handle);
    }
    CHECK(mine.releases == 1);
    CHECK(early.copied_bytes() == 0);
}

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
    box.early.copy_all(true);
    CHECK(box.in_place(2) == 0);
    box.take(1, 1);
    box.take(2, 2);
    CHECK(box.world.violations() == 0);
}

TEST_CASE("unexpected: a message that an operation holds is copied out as others are, once") {
    mailbox box;
    const event e = box.arrival(1, 77);
    held_message held{.data = e.data, .bytes = e.bytes, .handle = e.id, .peer = e.peer, .present = true};
    box.early.detach(held, true);
    CHECK(held.handle != e.id);
    CHECK(held.data != e.data);
    const held_message copy = held;
    box.early.detach(held, true);
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

TEST_CASE("unexpected: copies that operations have take no room from messages that are still early") {
    mailbox box({.in_place = 0, .bytes_per_peer = 1024});
    std::uint64_t copies = 0;
    for (box.keep(1, 0); box.in_place(1) == 0; box.keep(1, copies)) ++copies;
    REQUIRE(copies >= 2);
    box.take(1, 0); // one of the copies; so there is room for the last one
    box.early.copy_all(false);
    REQUIRE(box.in_place(1) == 0);
    std::vector<event> held;
    for (event e; box.early.next(e, [](const event& x) { return x.peer == 1; });) held.push_back(e);
    REQUIRE(held.size() == copies);
    for (std::uint64_t i = 0; i != copies; ++i) box.keep(1, 100 + i);
    CHECK(box.in_place(1) == 0);
    // One that is kept again counts as early again: now there is no room for more.
    box.early.keep(held.back());
    held.pop_back();
    box.keep(1, 200);
    CHECK(box.in_place(1) == 1);
    for (const event& e : held) box.early.release(e.id);
    CHECK(box.early.drop([](const event&) { return true; }) == copies + 2);
    CHECK(box.early.copied_bytes() == 0);
}

TEST_CASE("unexpected: early messages have room beside what operations have, whatever that is") {
    mailbox box({.in_place = 0, .bytes_per_peer = 1024, .bytes = 2048});
    std::vector<event> held;
    std::uint64_t kept = 0;
    while (box.early.copied_bytes() + 200 < 2048) { // operations have as many copies as there is room for
        box.keep(1, kept++);
        for (event e; box.early.next(e, [](const event& x) { return x.peer == 1; });) held.push_back(e);
    }
    box.keep(2, 500);
    box.keep(2, 501);
    box.keep(2, 502);
    CHECK(box.in_place(2) == 0);
    // And all have half as much again at the most, however often early ones become an operation's.
    for (std::uint64_t n = 600; n != 700 && box.in_place(2) == 0; ++n) {
        for (event e; box.early.next(e, [](const event& x) { return x.peer == 2; });) held.push_back(e);
        box.keep(2, n);
    }
    CHECK(box.in_place(2) == 1);
    CHECK(box.early.copied_bytes() > 2048);
    CHECK(box.early.copied_bytes() <= 3 * 1024);
    for (const event& e : held) box.early.release(e.id);
    CHECK(box.early.drop([](const event&) { return true; }) == 1);
    CHECK(box.early.copied_bytes() == 0);
}

TEST_CASE("unexpected: each sender has a share of the room, whatever copies there are of others") {
    const early_limits limits{.in_place = 0, .bytes_per_peer = 4096, .bytes = 6144};
    REQUIRE(limits.share(3) == 1024);
    mailbox box(limits);
    std::vector<event> held;
    for (std::uint64_t n = 0; n != 200 && box.in_place(1) == 0; ++n) { // rank 1 has all that it can have
        for (event e; box.early.next(e, [](const event&) { return true; });) held.push_back(e);
        box.keep(1, n);
    }
    REQUIRE(box.in_place(1) == 1);
    const auto copies_of_2 = [&](bool early) {
        const std::uint64_t before = box.early.copied_bytes();
        for (std::uint64_t n = 0; n != 10; ++n) {
            const event e = box.arrival(2, (early ? 500 : 600) + n);
            if (early) {
                box.early.keep(e);
            } else { // it is an operation's
                held_message one;
                one.peer = e.peer, one.handle = e.id, one.data = e.data, one.bytes = e.bytes;
                box.early.detach(one, false);
                held.push_back(e);
                held.back().id = one.handle;
            }
        }
        return box.early.copied_bytes() - before;
    };
    const std::uint64_t of_early = copies_of_2(true);
    CHECK(of_early > limits.share(3) * 3 / 4);
    CHECK(of_early <= limits.share(3));
    CHECK(box.early.copied_bytes() <= limits.bytes + limits.bytes / 2);
    (void)box.early.drop([](const event& e) { return e.peer == 2; });
    CHECK(copies_of_2(false) == of_early);
    for (const event& e : held) box.early.release(e.id);
    CHECK(box.early.drop([](const event&) { return true; }) == 1);
    CHECK(box.early.copied_bytes() == 0);
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
        box.early.copy_all(true);
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
    unexpected_messages early(ends[1], 2, {});
    for (std::uint32_t i = 0; i != many; ++i) {
        envelope tag;
        tag.operation = i;
        REQUIRE(ends[0].post_send(1, tag, {}, i) == posted::complete);
        std::array<event, 1> found;
        REQUIRE(ends[1].poll(found) == 1);
        early.keep(found[0]);
    }
    early.overtaken(0);
    early.copy_all(true);
    CHECK(early.copied_bytes() == 0);
    CHECK(early.count([](const event&) { return true; }) == many);
    CHECK(early.drop([](const event&) { return true; }) == many);
    for (std::uint32_t i = 0; i != 20; ++i) CHECK(ends[0].post_send(1, {}, {}, i) == posted::complete); // all slots
}

TEST_CASE("unexpected: a payload that is with its sender is taken when nothing comes, and gives its slot back") {
    late_mailbox box({}, 1);
    REQUIRE(box.send(1, bytes_of(1)));
    CHECK(box.poll().empty());
    box.early.copy_all(false); // too soon
    CHECK(box.early.copied_bytes() == 0);
    CHECK_FALSE(box.send(2, bytes_of(2)));
    box.early.copy_all(true);
    CHECK(box.early.copied_bytes() >= 300);
    event e;
    CHECK_FALSE(box.next(e, 1)); // under way
    CHECK(box.early.has(box.call_of(1)));
    CHECK(box.poll() == std::vector<std::uint32_t>{1});
    REQUIRE(box.send(2, bytes_of(2)));
    REQUIRE(box.next(e, 1));
    CHECK(box.early.claim(e.id));
    CHECK(std::equal(e.data, e.data + e.bytes, bytes_of(1).begin()));
    CHECK(e.bytes == 300);
    box.early.release(e.id);
    CHECK(box.early.copied_bytes() == 0);
    CHECK_FALSE(box.early.has(box.call_of(1)));
}

TEST_CASE("unexpected: messages of a call stay behind one of it that is under way") {
    late_mailbox box({}, 4);
    REQUIRE(box.send(7, bytes_of(1)));
    CHECK(box.poll().empty());
    box.early.copy_all(true);
    REQUIRE(box.send(7, bytes_of(2), 1));
    CHECK(box.poll() == std::vector<std::uint32_t>{7}); // and the second one was kept
    event e;
    REQUIRE(box.next(e, 7));
    CHECK(e.envelope.segment == 0);
    box.early.release(e.id);
    REQUIRE(box.next(e, 7));
    CHECK(e.envelope.segment == 1);
    CHECK(e.data == nullptr); // it is still with its sender
    box.early.release(e.id);
    CHECK(box.early.empty());
}

TEST_CASE("unexpected: one that is dropped while it is under way keeps its memory until the end") {
    late_mailbox box({}, 4);
    for (int round = 0; round != 3; ++round) {
        REQUIRE(box.send(1, bytes_of(1)));
        CHECK(box.poll().empty());
        box.early.copy_all(true);
        CHECK(box.early.drop([](const event&) { return true; }) == 1);
        CHECK(box.early.empty());
        CHECK(box.early.copied_bytes() >= 300);
        CHECK(box.poll().empty()); // nobody is to hear of it
        CHECK(box.early.copied_bytes() == 0);
    }
    CHECK(box.early.allocations() < 4);
}

TEST_CASE("unexpected: one that is taken out and kept again while it is under way is still found at its end") {
    late_mailbox box;
    REQUIRE(box.send(1, bytes_of(1)));
    CHECK(box.poll().empty());
    box.early.copy_all(true);
    event e;
    REQUIRE(box.early.next(e, [](const event&) { return true; }));
    box.early.keep(e);
    CHECK_FALSE(box.next(e, 1));
    CHECK(box.poll() == std::vector<std::uint32_t>{1});
    REQUIRE(box.next(e, 1));
    CHECK(std::equal(e.data, e.data + e.bytes, bytes_of(1).begin()));
    box.early.release(e.id);
}

TEST_CASE("unexpected: a payload that its sender takes back while it is under way cannot be claimed") {
    late_mailbox box;
    REQUIRE(box.send(1, bytes_of(1)));
    CHECK(box.poll().empty());
    box.early.copy_all(true);
    REQUIRE(box.theirs.cancel(1) == errc::ok);
    CHECK(box.poll() == std::vector<std::uint32_t>{1});
    event e;
    REQUIRE(box.next(e, 1));
    CHECK_FALSE(box.early.claim(e.id));
    box.early.release(e.id);
    CHECK(box.early.copied_bytes() == 0);
    REQUIRE(box.send(2, {})); // its memory serves again, and is as good as new
    CHECK(box.poll().empty());
}

TEST_CASE("unexpected: a message that its sender has taken back keeps no slot") {
    late_mailbox box({}, 1);
    REQUIRE(box.send(1, bytes_of(1)));
    CHECK(box.poll().empty());
    REQUIRE(box.theirs.cancel(1) == errc::ok);
    CHECK_FALSE(box.send(2, bytes_of(2)));
    box.early.copy_all(true);
    REQUIRE(box.send(2, bytes_of(2)));
    CHECK(box.poll().empty());
    event e;
    REQUIRE(box.next(e, 1)); // its operation still hears of it
    CHECK_FALSE(box.early.claim(e.id));
    std::vector<std::byte> into(300);
    CHECK(box.early.take(e.id, into, 1) == posted::failed);
    box.early.release(e.id);
    CHECK(box.early.copied_bytes() == 0);
}

TEST_CASE("unexpected: messages of the session itself are not taken") {
    late_mailbox box;
    REQUIRE(box.send(1, bytes_of(1), unexpected_messages<late_end>::first_of_session));
    CHECK(box.poll().empty());
    box.early.copy_all(true);
    CHECK(box.early.copied_bytes() == 0);
}

TEST_CASE("unexpected: an operation gets the payload of a message that it holds when that has come") {
    late_mailbox box({}, 1);
    std::vector<std::byte> into(300);
    const auto arrives = [&] {
        REQUIRE(box.send(1, bytes_of(5)));
        std::array<event, 1> found;
        REQUIRE(box.mine.poll(found) == 1);
        const event& e = found[0];
        return held_message{.data = e.data, .bytes = e.bytes, .handle = e.id, .peer = e.peer, .present = true};
    };
    held_message held = arrives();
    const std::uint64_t handle = held.handle;
    box.early.detach(held, false);
    CHECK(held.handle == handle);
    box.early.detach(held, true);
    CHECK(held.handle != handle);
    CHECK(held.data == nullptr);
    CHECK(box.early.take(held.handle, into, 1) == posted::would_block);
    CHECK(box.early.take_pieces(held.handle, 4, 1) == posted::would_block);
    CHECK(box.poll().empty());
    CHECK(box.early.take(held.handle, into, 1) == posted::complete);
    CHECK(into == bytes_of(5));
    CHECK(box.early.copied_bytes() == 0);

    held = arrives(); // and one that it gives up
    box.early.detach(held, true);
    box.early.release(held.handle);
    CHECK(box.poll().empty());
    CHECK(box.early.copied_bytes() == 0);

    held = arrives(); // and one that its sender takes back
    box.early.detach(held, true);
    REQUIRE(box.theirs.cancel(1) == errc::ok);
    CHECK(box.poll().empty());
    CHECK(box.early.take(held.handle, into, 1) == posted::failed);
    box.early.release(held.handle);
    CHECK(box.early.copied_bytes() == 0);
}

// Of ranks behind the first 256, memory for what is copied of them is allocated when the first message is.
TEST_CASE("unexpected: a message that an operation holds stays where it is if memory runs out") {
    testing::loop_group group(2);
    late_end mine(group.connect(0));
    auto theirs = group.connect(1);
    const std::vector<std::byte> bytes = bytes_of(1);
    REQUIRE(theirs.post_send(0, {}, bytes, 1) == posted::pending);
    std::array<event, 1> found;
    REQUIRE(mine.poll(found) == 1);
    unexpected_messages<late_end> early(mine, 1'000, {});
    held_message held{.bytes = found[0].bytes, .handle = found[0].id, .peer = 999, .present = true};
    for (long until = 0; until != 2; ++until) {
        bough_test::until_failure = until;
        early.detach(held, true);
        bough_test::until_failure = -1;
        CHECK(held.handle == found[0].id);
        CHECK(early.copied_bytes() == 0);
    }
    early.detach(held, true);
    CHECK(held.handle != found[0].id);
    CHECK(mine.poll(found) == 1);
    event e = found[0];
    envelope call;
    REQUIRE(early.owns(e));
    CHECK_FALSE(early.taken(e, call));
    std::vector<std::byte> into(bytes.size());
    CHECK(early.take(held.handle, into, 1) == posted::complete);
    CHECK(into == bytes);
}
