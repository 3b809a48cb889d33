// SPDX-License-Identifier: BSL-1.0
// A rank that runs out of memory in the middle of something leaves nothing half done.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/joined_ends.hpp"
#include "support/poor_rank.hpp"
#include <bough/algorithm/groups.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/tcp.hpp>
#include <bough/transport/tcp/outgoing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// Takes so many bytes in all.
struct short_stream {
    std::size_t room = 0;
    std::vector<std::byte> bytes{};

    io_result write(const io_vectors<const std::byte>& from, std::size_t& n) {
        const long left = std::exchange(bough_test::until_failure, -1); // these allocations are not the library's
        n = 0;
        for (const auto piece : from) {
            const std::size_t some = std::min(piece.size(), room);
            const auto* data = static_cast<const std::byte*>(piece.data());
            bytes.insert(bytes.end(), data, data + some);
            n += some;
            room -= some;
        }
        bough_test::until_failure = left;
        return n == 0 ? io_result::would_block : io_result::some;
    }
    io_result write(std::span<const std::byte> from, std::size_t& n) {
        io_vectors<const std::byte> one;
        one.add(from);
        return write(one, n);
    }
};

// How many whole frames these bytes are. Each must be the next one, with the payload that its number says.
std::uint32_t whole_frames(std::span<const std::byte> bytes) {
    std::uint32_t frames = 0;
    for (; !bytes.empty(); ++frames) {
        REQUIRE(bytes.size() >= frame_header_bytes);
        frame_header header;
        std::copy_n(bytes.begin(), header.size(), header.begin());
        frame f;
        REQUIRE(decode_frame(header, frames, f) == frame_fault::none);
        const auto payload = static_cast<std::size_t>(frame_payload_bytes(f));
        const std::size_t whole = header.size() + payload + frame_tail_bytes(f.kind, payload);
        REQUIRE(bytes.size() >= whole);
        const auto body = bytes.subspan(header.size(), payload);
        CHECK(std::all_of(body.begin(), body.end(),
                          [&](std::byte b) { return b == static_cast<std::byte>(1 + f.tag.operation); }));
        bytes = bytes.subspan(whole);
    }
    return frames;
}

} // namespace

namespace {

// One rank in a room, with so many allocations until one fails. `bytes`: to be said.
template <class W>
status enter(W& wire, const listed_groups& groups, long few, std::size_t bytes) {
    bough_test::poor_wire<W> poor{wire, few, true};
    bough_test::until_failure = few;
    status result;
    try {
        join_room room(poor, groups, 60'000'000'000);
        result = room.run([&]() -> status {
            const std::vector<std::byte> mine(bytes);
            std::vector<std::byte> all(bytes * room.size());
            for (int i = 0; i != 3; ++i)
                if (const status bad = room.exchange(mine, all, room.left_ns())) return bad;
            return {};
        });
    } catch (const std::bad_alloc&) {
        result = {.code = errc::op_threw};
    }
    bough_test::until_failure = -1;
    return result;
}

} // namespace

TEST_CASE("memory: a rank that has none for joining says so, and the others end at once") {
    for (const listed_groups& groups : {listed_groups(), listed_groups({0, 0, 1, 1, 1})})
        for (const std::size_t bytes : {1u, 900u}) {
            long few = 0;
            for (bool joined = false; !joined; ++few) {
                REQUIRE(few != 100);
                const testing::thread_wire_up world{5};
                std::vector<status> told(5);
                std::vector<std::thread> threads;
                for (rank_t r = 0; r != 5; ++r)
                    threads.emplace_back([&, r] {
                        auto wire = world.of(r);
                        told[r] = enter(wire, groups, r == 1 ? few : -1,
                                        r < 2 ? bytes : bytes + 4 * (groups != listed_groups()));
                    });
                for (std::thread& t : threads) t.join();
                CAPTURE(few, bytes, groups == listed_groups());
                joined = !told[1];
                for (rank_t r = 0; r != 5; ++r) {
                    if (joined) CHECK_FALSE(told[r]);
                    if (joined) continue;
                    if (r == 1) CHECK(told[r].code == errc::no_resources);
                    if (r != 1)
                        CHECK((told[r].code == errc::peer_aborted && told[r].cause == errc::no_resources &&
                               told[r].peer == 1));
                }
            }
            CHECK(few > 4);
        }
}

TEST_CASE("memory: a message over tcp is sent whole or not at all, whichever allocation fails") {
    const std::array<std::size_t, 8> sizes{8, 3'000, 0, most_short_bytes, most_short_bytes + 1, 300, 16'000, 9};
    std::size_t failures = 0;
    for (const std::size_t room : {0u, 1u, 47u, 48u, 50u, 80u, 500u, 2'000u, 40'000u})
        for (long fails = 0; fails != 12; ++fails) {
            CAPTURE(room, fails);
            tcp_outgoing out(1 << 20);
            short_stream stream{room};
            std::vector<std::vector<std::byte>> sent;
            for (std::size_t i = 0; i != sizes.size(); ++i) sent.emplace_back(sizes[i], static_cast<std::byte>(1 + i));
            bough_test::until_failure = fails;
            for (std::uint32_t i = 0; i != sizes.size(); ++i) {
                const std::uint64_t before = out.accepted();
                try {
                    if (i == 3 || i == 6) (void)out.give_credit(5);
                    (void)out.post(stream, {.operation = i}, sent[i], i);
                } catch (const std::bad_alloc&) {
                    ++failures;
                    if (i != 3 && i != 6) CHECK(out.accepted() == before);
                    CHECK((out.accepted() != 0 || out.idle()));
                }
            }
            bough_test::until_failure = -1;
            stream.room = ~std::size_t{0};
            out.flush(stream, [](std::uint64_t) {});
            CHECK(out.idle());
            CHECK(whole_frames(stream.bytes) == out.accepted());
            CHECK(out.handed_over() == out.accepted());
        }
    CHECK(failures > 30);
}

TEST_CASE("memory: an event that was expected takes none, in whatever order others come and go") {
    due_events queue;
    std::uint64_t in = 0, out = 0, expected = 0;
    for (std::uint64_t turn = 0; turn != 3'000; ++turn) {
        const std::uint64_t more = turn * 7 % 5;
        if (turn % 3 == 0) {
            bough_test::until_failure = 0;
            try {
                queue.expect(more);
                expected += more;
            } catch (const std::bad_alloc&) { // nothing has happened
            }
            bough_test::until_failure = -1;
        } else {
            queue.expect(more), expected += more;
        }
        if (expected > 200) queue.expect_less(), --expected;
        bough_test::until_failure = 0;
        for (std::uint64_t n = turn * 11 % 6; n != 0 && expected != 0; --n, --expected)
            queue.complete(in++, errc::ok, 0);
        const long left = std::exchange(bough_test::until_failure, -1);
        REQUIRE(left == 0);
        for (std::uint64_t n = turn * 13 % 7; n != 0 && !queue.empty(); --n) REQUIRE(queue.take().id == out++);
    }
    REQUIRE(queue.empty() == (in == out));
    if (in != out) CHECK((queue.has_completed(out) && queue.has_completed(in - 1)));
    CHECK_FALSE(queue.has_completed(in));
    while (!queue.empty()) REQUIRE(queue.take().id == out++);
    CHECK(in == out);
}

TEST_CASE("memory: over tcp no message that has come is lost, whichever allocation of a poll fails") {
    constexpr std::uint32_t count = 40;
    std::size_t failures = 0;
    bool was_enough = false;
    for (long fails = 0; !was_enough; ++fails) {
        std::vector<tcp> ends = bough_test::joined_ends<tcp>(
            3, [](rank_t, auto& wire, status& result) { return tcp::join(wire, {}, result); });
        const std::array<std::byte, 24> bytes{};
        std::array<event, 8> events;
        std::array<std::uint32_t, 3> sent{}, came{};
        long left = fails; // until one fails
        was_enough = true;
        for (int turns = 0; came[0] + came[2] != 2 * count && turns != 100'000; ++turns) {
            for (const rank_t r : {rank_t{0}, rank_t{2}}) {
                if (sent[r] != count &&
                    ends[r].post_send(1, {.operation = sent[r]}, bytes, sent[r]) == posted::complete)
                    ++sent[r];
                (void)ends[r].poll(events);
            }
            std::size_t found = 0;
            const std::size_t before = bough_test::allocations;
            bough_test::fail_for_good = true; // in this poll
            bough_test::until_failure = left;
            try {
                found = ends[1].poll(events);
            } catch (const std::bad_alloc&) {
                ++failures;
            }
            bough_test::until_failure = -1;
            bough_test::fail_for_good = false;
            const auto asked = static_cast<long>(bough_test::allocations - before);
            was_enough &= left < 0 || asked <= left;
            left = left < 0 || asked > left ? -1 : left - asked;
            // None is released: each takes memory.
            for (const event& e : std::span(events).first(found)) {
                if (e.what != event::kind::arrived) continue;
                CHECK(e.envelope.operation == came[e.peer]);
                ++came[e.peer];
            }
        }
        CAPTURE(fails);
        REQUIRE(came == std::array<std::uint32_t, 3>{count, 0, count});
    }
    CHECK(failures > 3);
}

namespace {

std::vector<tcp> tcp_ends(rank_t count, const tcp_options& options = {}) {
    return bough_test::joined_ends<tcp>(
        count, [&](rank_t, auto& wire, status& result) { return tcp::join(wire, options, result); });
}
// Polls without memory behind the next `few` allocations; a lack of it is an answer, too.
std::size_t poll_poor(tcp& end, std::span<event> events, long few = 0) {
    std::size_t found = 0;
    bough_test::fail_for_good = true;
    bough_test::until_failure = few;
    try {
        found = end.poll(events);
    } catch (const std::bad_alloc&) {
    }
    bough_test::until_failure = -1;
    bough_test::fail_for_good = false;
    return found;
}

} // namespace

TEST_CASE("memory: over tcp all ends and losses are told without memory, also beside a peer that is owed room") {
    constexpr rank_t ranks = 24, sender = 1;
    std::vector<tcp> ends = tcp_ends(ranks, {.unexpected_bytes_per_peer = 1u << 18});
    const std::vector<std::byte> bytes(3'000), more(16'000'000);
    std::array<event, 8> events;
    for (std::uint64_t id = 2; id != ranks; ++id)
        REQUIRE(ends[0].post_send(static_cast<rank_t>(id), {}, more, id) == posted::pending);
    // Rank 0 owes a sender room, of which it has no memory to tell it.
    std::vector<std::uint64_t> held;
    for (int sent = 0, turns = 0; held.size() != 40 && turns != 100'000; ++turns) {
        if (sent != 40) sent += ends[sender].post_send(0, {}, bytes, 1) == posted::complete;
        (void)ends[sender].poll(events);
        const std::size_t found = ends[0].poll(events);
        for (const event& e : std::span(events).first(found))
            if (e.what == event::kind::arrived) held.push_back(e.id);
    }
    REQUIRE(held.size() == 40);
    for (const std::uint64_t handle : held) ends[0].release(handle);

    std::size_t cancelled = 0;
    bough_test::until_failure = 0;
    bough_test::fail_for_good = true;
    try {
        for (std::uint64_t id = 2; id != ranks; ++id) cancelled += ends[0].cancel(id) == errc::ok;
    } catch (const std::bad_alloc&) {
    }
    bough_test::until_failure = -1;
    bough_test::fail_for_good = false;
    REQUIRE(cancelled == ranks - 2);

    std::vector<int> ended(ranks), lost(ranks);
    const auto poll_all = [&](const auto& is_over) {
        for (std::size_t turns = 0; turns != 100'000 && !is_over(); ++turns) {
            const std::size_t found = poll_poor(ends[0], std::span(events).first(1 + turns % 8));
            for (const event& e : std::span(events).first(found)) {
                if (e.what == event::kind::complete) ++ended[e.id];
                if (e.what == event::kind::lost) ++lost[e.peer];
            }
        }
        return is_over();
    };
    std::vector<int> each(ranks, 1);
    each[0] = each[1] = 0;
    CHECK(poll_all([&] { return ended == each; }));
    while (ends.size() != 1) ends.pop_back(); // all others leave
    each[1] = 1;
    CHECK(poll_all([&] { return lost == each; }));
    CHECK(ends[0].poll(events) == 0);
}

TEST_CASE("memory: what was sent over tcp arrives though its sender leaves without memory") {
    for (const bool for_good : {true, false}) {
        std::vector<tcp> ends = tcp_ends(2);
        std::uint32_t sent = 0;
        while (sent != 10 && ends[1].post_send(0, {.operation = sent}, {}, sent) == posted::complete) ++sent;
        REQUIRE(ends[1].unsent()); // gathered
        bough_test::until_failure = 0;
        bough_test::fail_for_good = for_good;
        ends.pop_back();
        bough_test::until_failure = -1;
        bough_test::fail_for_good = false;
        std::uint32_t came = 0;
        bool is_lost = false;
        std::array<event, 8> events;
        for (int turns = 0; turns != 100'000 && !is_lost; ++turns) {
            const std::size_t found = ends[0].poll(events);
            for (const event& e : std::span(events).first(found)) {
                is_lost = is_lost || e.what == event::kind::lost;
                if (e.what != event::kind::arrived) continue;
                CHECK(e.envelope.operation == came++);
                ends[0].release(e.id);
            }
            if (found == 0) ends[0].wait(1'000, ends[0].now_ns() + 1'000'000);
        }
        CHECK((is_lost && came == sent));
    }
}

TEST_CASE("memory: a connection over tcp for which there is no memory is made later, or its peer is lost") {
    long few = 0;
    for (bool was_enough = false; !was_enough; ++few) {
        REQUIRE(few != 500);
        CAPTURE(few);
        std::vector<tcp> ends = tcp_ends(2, {.eager_mesh = 1});
        std::array<event, 8> events;
        bool is_sent = false, has_come = false, poor = true;
        std::array<int, 2> losses{};
        const std::uint64_t last = ends[0].now_ns() + 30'000'000'000;
        was_enough = true;
        while (!has_come && losses[0] + losses[1] == 0 && ends[0].now_ns() < last) {
            if (!is_sent) is_sent = ends[0].post_send(1, {}, {}, 1) == posted::complete;
            for (const rank_t r : {rank_t{0}, rank_t{1}}) {
                const std::size_t before = bough_test::allocations;
                const std::size_t found = r == 1 && poor ? poll_poor(ends[1], events, few) : ends[r].poll(events);
                if (r == 1 && poor && static_cast<long>(bough_test::allocations - before) > few)
                    was_enough = poor = false;
                for (const event& e : std::span(events).first(found)) {
                    losses[r] += e.what == event::kind::lost;
                    has_come = has_come || (r == 1 && e.what == event::kind::arrived);
                }
            }
        }
        CHECK((has_come || losses[0] + losses[1] != 0));
        CHECK((losses[0] <= 1 && losses[1] <= 1));
        if (was_enough) CHECK(has_come);
    }
    CHECK(few > 3);
}
