// SPDX-License-Identifier: BSL-1.0
// Messages of the session itself: they leave in order for each peer, however little the transport takes; and their spare memory:
// what is reserved is there, and what is no longer reserved is let go.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/session/outbox.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

using bough::outbox;
using bough::spare_bytes;

namespace {

using buffers = std::vector<std::vector<std::byte>>;

// All that it has.
buffers drained(spare_bytes& spare) {
    buffers all;
    for (std::vector<std::byte> x = spare.of_size(0); x.capacity() != 0; x = spare.of_size(0))
        all.push_back(std::move(x));
    return all;
}
std::size_t count_of(const buffers& all, std::size_t bytes) {
    std::size_t n = 0;
    for (const auto& x : all) n += x.capacity() >= bytes;
    return n;
}

using transport = bough::testing::transport_archetype;

constexpr std::array<std::byte, 8> short_bytes{};
constexpr std::array<std::byte, 200> long_bytes{}; // more than the transport sends at once

// A message with this number in its envelope.
void put(outbox& out, bough::rank_t to, std::uint32_t number, std::span<const std::byte> bytes = short_bytes) {
    bough::envelope tag;
    tag.operation = number;
    out.put(to, tag, bytes);
}
// The numbers of the messages that have come, which are released.
std::vector<std::uint32_t> come(transport& me) {
    std::vector<std::uint32_t> numbers;
    std::array<bough::event, 16> events;
    for (std::size_t i = 0, found = me.poll(events); i != found; ++i) {
        if (events[i].what != bough::event::kind::arrived) continue;
        numbers.push_back(events[i].envelope.operation);
        me.release(events[i].id);
    }
    return numbers;
}
// Tells the outbox of its posts that have ended.
void hear(transport& me, outbox& out) {
    std::array<bough::event, 16> events;
    for (std::size_t i = 0, found = me.poll(events); i != found; ++i) {
        CHECK(events[i].id >> 32 == outbox::id_mark);
        out.completed(events[i].id);
    }
}
using numbers = std::vector<std::uint32_t>;

// Has no room for long messages at first.
struct refuses_long : transport {
    explicit refuses_long(transport&& inner) : transport(std::move(inner)) {}
    bough::posted post_send(bough::rank_t to, const bough::envelope& tag, std::span<const std::byte> bytes,
                            std::uint64_t id) {
        return refuses && bytes.size() > 64 ? bough::posted::would_block : transport::post_send(to, tag, bytes, id);
    }
    bool refuses = true;
};

} // namespace

TEST_CASE(
    "outbox: what the transport does not take now leaves later, in order for each peer, and holds up no other peer") {
    const bough::testing::loop_group group(3, {.slots = 2});
    std::vector<transport> ends = group.connect_all();
    outbox out(3);
    CHECK(out.empty());
    for (std::uint32_t i = 1; i <= 5; ++i) put(out, 1, i);
    put(out, 2, 6);
    CHECK(come(ends[1]).empty()); // not before flush()
    CHECK(out.holds_for(1));
    out.flush(ends[0]);
    CHECK(out.holds_for(1));
    CHECK_FALSE(out.holds_for(2));
    CHECK(come(ends[2]) == numbers{6});
    CHECK(come(ends[1]) == numbers{1, 2});
    out.flush(ends[0]);
    CHECK(come(ends[1]) == numbers{3, 4});
    CHECK_FALSE(out.empty());
    out.flush(ends[0]);
    CHECK(come(ends[1]) == numbers{5});
    CHECK(out.empty());
}

TEST_CASE("outbox: a message that the transport would take waits for those before it to the same peer") {
    const bough::testing::loop_group group(3);
    std::vector<transport> ends = group.connect_all();
    refuses_long sender(std::move(ends[0]));
    outbox out(3);
    put(out, 1, 1, long_bytes);
    put(out, 1, 2);
    put(out, 2, 3);
    out.flush(sender);
    CHECK(come(ends[1]).empty());
    CHECK(come(ends[2]) == numbers{3});
    sender.refuses = false;
    out.flush(sender);
    CHECK(come(ends[1]) == numbers{1, 2});
}

TEST_CASE("outbox: a message that is under way is kept until its post has ended, and is not sent twice") {
    const bough::testing::loop_group group(2);
    std::vector<transport> ends = group.connect_all();
    outbox out(3);
    put(out, 1, 1, long_bytes);
    put(out, 1, 2, long_bytes);
    out.flush(ends[0]);
    CHECK_FALSE(out.holds_for(1)); // the transport has both
    CHECK_FALSE(out.empty());      // but reads them later
    out.flush(ends[0]);
    out.forget(1); // only what the transport has not taken
    CHECK_FALSE(out.empty());
    CHECK(come(ends[1]) == numbers{1, 2});
    hear(ends[0], out);
    CHECK(out.empty());
}

TEST_CASE("outbox: what waits for a peer that is lost is forgotten, and what is sent to it goes nowhere") {
    const bough::testing::loop_group group(3, {.slots = 1});
    std::vector<transport> ends = group.connect_all();
    outbox out(3);
    put(out, 1, 1);
    put(out, 1, 2);
    put(out, 2, 3);
    put(out, 2, 4);
    out.flush(ends[0]);
    out.forget(1);
    CHECK_FALSE(out.holds_for(1));
    CHECK(out.holds_for(2));
    CHECK(come(ends[2]) == numbers{3});
    { [[maybe_unused]] const transport gone = std::move(ends[1]); }
    CHECK(come(ends[0]).empty()); // hears of the loss
    out.put(1, {}, short_bytes);
    out.flush(ends[0]);
    CHECK_FALSE(out.holds_for(1));
    CHECK(come(ends[2]) == numbers{4});
    CHECK(out.empty());
}

TEST_CASE("outbox: it says whether one was put since the last flush, and once that data may go that had to wait") {
    const bough::testing::loop_group group(3, {.slots = 1});
    std::vector<transport> ends = group.connect_all();
    outbox out(3);
    CHECK_FALSE(out.has_untried());
    CHECK_FALSE(out.holds_any());
    for (std::uint32_t i = 1; i <= 2; ++i) put(out, 1, i), put(out, 2, 10 + i);
    CHECK(out.has_untried());
    CHECK(out.holds_any());
    CHECK_FALSE(out.data_waits());
    CHECK(out.holds_back(1));
    CHECK(out.data_waits());
    CHECK_FALSE(out.data_may_go());
    out.flush(ends[0]); // one to each rank
    CHECK_FALSE(out.has_untried());
    CHECK_FALSE(out.data_may_go());
    CHECK(come(ends[1]) == numbers{1});
    out.flush(ends[0]);
    CHECK(out.data_may_go());
    CHECK_FALSE(out.data_may_go());
    CHECK_FALSE(out.holds_back(1));
    CHECK(out.data_waits()); // perhaps for the other rank
    out.forget(2);
    CHECK(out.data_may_go());
    CHECK_FALSE(out.data_waits());
    put(out, 2, 20);
    out.forget(2); // no data has waited meanwhile
    CHECK_FALSE(out.data_may_go());
    CHECK_FALSE(out.holds_any());
    CHECK(out.empty());
}

TEST_CASE("outbox: each rank hears its messages in order, whatever room there is, and whoever is forgotten") {
    constexpr bough::rank_t ranks = 5;
    std::uint32_t drawn = 1;
    const auto draw = [&drawn](std::uint32_t below) { return (drawn = drawn * 1664525u + 1013904223u) / 64 % below; };
    const bough::testing::loop_group group(ranks, {.slots = 2});
    std::vector<transport> ends = group.connect_all();
    outbox out(ranks);
    std::array<numbers, ranks> waiting; // what each rank has still to hear, in its order
    std::size_t most = 0;
    for (std::uint32_t i = 1; i != 20'000; ++i) {
        const bough::rank_t r = 1 + draw(ranks - 1);
        switch (draw(8)) {
        case 0: out.flush(ends[0]); break;
        case 1: hear(ends[0], out); break;
        case 2:
        case 3:
            for (const std::uint32_t n : come(ends[r])) {
                REQUIRE(waiting[r].front() == n);
                waiting[r].erase(waiting[r].begin());
            }
            break;
        case 4:
            if (draw(20) != 0) break;
            out.forget(r);
            REQUIRE_FALSE(out.holds_for(r));
            // What the transport has still comes.
            while (waiting[r].size() > 2) waiting[r].pop_back();
            for (const std::uint32_t n : come(ends[r]))
                REQUIRE(std::find(waiting[r].begin(), waiting[r].end(), n) != waiting[r].end());
            waiting[r].clear();
            break;
        default:
            put(out, r, i, draw(3) == 0 ? std::span<const std::byte>(long_bytes) : short_bytes);
            waiting[r].push_back(i);
        }
        most = std::max(most, out.size());
    }
    CHECK(most > 20);
    for (int turns = 0; !out.empty() && turns != 2000; ++turns) {
        out.flush(ends[0]);
        for (bough::rank_t r = 1; r != ranks; ++r)
            for (const std::uint32_t n : come(ends[r])) {
                REQUIRE(waiting[r].front() == n);
                waiting[r].erase(waiting[r].begin());
            }
        hear(ends[0], out);
    }
    CHECK(out.empty());
    for (const numbers& w : waiting) CHECK(w.empty());
}

// So a failure can be told when no memory is left, as often as messages of this length leave.
TEST_CASE("outbox: with memory reserved, message after message is put without allocating") {
    for (const bool sent_later : {false, true}) {
        const bough::testing::loop_group group(2);
        std::vector<transport> ends = group.connect_all();
        outbox out(3);
        out.reserve(1, long_bytes.size());
        for (std::uint32_t i = 1; i <= 3; ++i) {
            CAPTURE(sent_later, i);
            const std::size_t before = bough_test::allocations;
            sent_later ? put(out, 1, i, long_bytes) : put(out, 1, i);
            CHECK(bough_test::allocations == before);
            out.flush(ends[0]);
            CHECK(out.empty() == !sent_later);
            CHECK(come(ends[1]) == numbers{i});
            hear(ends[0], out);
            CHECK(out.empty());
        }
    }
}

TEST_CASE("spare_bytes: what is unreserved goes, and leaves others what they have reserved") {
    for (const bool long_ones_go : {true, false}) {
        spare_bytes spare;
        spare.reserve(4, 100);
        spare.reserve(2, 1000);
        spare.reserve(1, 10);
        CHECK(spare.room() == 7);
        long_ones_go ? spare.unreserve(2, 1000) : spare.unreserve(4, 100);
        const buffers left = drained(spare);
        CHECK(left.size() == (long_ones_go ? 5 : 3));
        CHECK(count_of(left, 100) == (long_ones_go ? 4 : 2));
        CHECK(count_of(left, 1000) == (long_ones_go ? 0 : 2));
    }
}
TEST_CASE("spare_bytes: what is in use when its reservation ends comes back into the room that is left") {
    spare_bytes spare;
    spare.reserve(2, 100);
    spare.reserve(3, 50);
    buffers used = drained(spare);
    REQUIRE(used.size() == 5);
    spare.unreserve(3, 50);
    for (auto& x : used) spare.give(std::move(x));
    CHECK(drained(spare).size() == 2);
    spare.give(std::vector<std::byte>(7));
    spare.unreserve(2, 100);
    spare.give(std::vector<std::byte>(7));
    CHECK(drained(spare).empty());
}
TEST_CASE("spare_bytes: what is too short for all that is reserved does not come back") {
    spare_bytes spare;
    spare.reserve(2, 100);
    spare.reserve(2, 6000);
    for (std::size_t n = drained(spare).size(); n != 0; --n) spare.give(std::vector<std::byte>(10));
    CHECK(drained(spare).empty());
    for (int i = 0; i != 5; ++i) spare.give(std::vector<std::byte>(150));
    spare.unreserve(2, 6000);
    CHECK(spare.room() == 2);
    CHECK(drained(spare).size() == 2);
}
TEST_CASE("spare_bytes: long ones serve for short ones where there is room, also when these are no longer reserved") {
    spare_bytes spare;
    spare.reserve(1, 100);
    spare.reserve(1, 50);
    for (int i = 0; i != 3; ++i) spare.give(std::vector<std::byte>(500));
    CHECK(drained(spare).size() == 2);
    for (int i = 0; i != 3; ++i) spare.give(std::vector<std::byte>(500));
    spare.unreserve(1, 100);
    CHECK(drained(spare).size() == 1);
}
TEST_CASE(
    "spare_bytes: messages of each length find memory, in whatever order they come, if no more are in use than are "
    "reserved for it") {
    // By length: how many were reserved, and those in use.
    struct of_length {
        std::size_t bytes, reserved;
        buffers used{};
    };
    std::array<of_length, 4> lengths{{{3000, 2}, {16, 5}, {200, 3}, {40, 1}}};
    spare_bytes spare;
    for (const of_length& x : lengths) {
        spare.reserve(x.reserved, x.bytes);
        spare.reserve(x.reserved, x.bytes); // for two
    }
    std::set<const std::byte*> reserved;
    for (buffers all = drained(spare); !all.empty(); all.pop_back()) {
        reserved.insert(all.back().data());
        spare.give(std::move(all.back()));
    }
    REQUIRE(reserved.size() == 22);
    std::uint32_t drawn = 1;
    const auto draw = [&drawn](std::size_t below) { return (drawn = drawn * 1664525u + 1013904223u) / 64 % below; };
    const std::vector<std::byte> any(3000);
    int turns_full = 0;
    for (int i = 0; i != 20'000; ++i) {
        of_length& x = lengths[draw(4)];
        const bool full = x.used.size() == 2 * x.reserved;
        turns_full += full;
        if (!full && draw(2) == 0) {
            x.used.push_back(draw(2) == 0 ? spare.of_size(x.bytes) : spare.copy_of(std::span(any).first(x.bytes)));
            REQUIRE(reserved.contains(x.used.back().data()));
        } else if (!x.used.empty()) {
            std::swap(x.used[draw(x.used.size())], x.used.back());
            spare.give(std::move(x.used.back()));
            x.used.pop_back();
        }
    }
    CHECK(turns_full > 100);
    CHECK(spare.of_size(3001).size() == 3001);
}
