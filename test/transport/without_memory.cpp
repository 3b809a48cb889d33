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
            bough_test::until_failure = left;
            try {
                found = ends[1].poll(events);
            } catch (const std::bad_alloc&) {
                ++failures;
            }
            left = std::exchange(bough_test::until_failure, -1);
            was_enough &= left >= 0;
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
