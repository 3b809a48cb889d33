// SPDX-License-Identifier: BSL-1.0
// Long sends and takes by themselves: two ranks in one thread, each step when the test says so.
#include "support/catch.hpp"
#include "transport/shared_memory_parts.hpp"
#include <bough/transport/shared_memory/long_sends.hpp>
#include <bough/transport/shared_memory/long_takes.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

std::vector<std::byte> pattern(std::size_t bytes) {
    std::vector<std::byte> p(bytes);
    for (std::size_t i = 0; i != bytes; ++i) p[i] = static_cast<std::byte>(i * 7 + i / 251);
    return p;
}

// Rank 1 sends to rank 0.
struct two_ranks {
    std::vector<bough_test::linked_rank> ranks;
    shared_long_sends sends{2};
    shared_long_takes takes{2, 1e6};
    explicit two_ranks(const shared_memory_options& options) : ranks(bough_test::linked_ranks(2, options)) {}

    shared_link& to() { return ranks[1].links[0]; }
    shared_link& from() { return ranks[0].links[1]; }
    posted post(std::span<const std::byte> bytes, std::uint64_t id) {
        const posted result = sends.post(to(), {}, bytes, id, ranks[1].mine);
        if (!to().opened) ranks[1].links.open(to());
        return result;
    }
    std::uint32_t arrived() {
        event e;
        ranks[0].links.find_opened();
        REQUIRE(from().in.peek(e, 1, from().handle));
        return static_cast<std::uint32_t>(e.id % most_slots);
    }
    // Lets both ranks take turns until each has had its event.
    std::array<event, 2> ended() { // of the take, and of the send
        std::array<event, 2> events;
        bool taken = false, sent = false;
        for (int i = 0; i != 1000 && !(taken && sent); ++i) {
            if (!sent) sent = sends.go_on(std::span(&events[1], 1), ranks[1].links) == 1;
            if (!taken) taken = takes.go_on(std::span(&events[0], 1), ranks[0].links) == 1;
        }
        REQUIRE((taken && sent));
        CHECK((takes.empty() && sends.empty()));
        return events;
    }
};

} // namespace

TEST_CASE("shared_long_takes: a message of many pieces is put together") {
    two_ranks t({.direct_reads = false});
    const auto bytes = pattern(1'000'003);
    std::vector<std::byte> got(bytes.size());
    CHECK(shared_long_sends::is_long(t.to(), bytes, t.ranks[1].mine));
    CHECK_FALSE(shared_long_sends::is_long(t.to(), std::span(bytes).first(100), t.ranks[1].mine));
    REQUIRE(t.post(bytes, 7) == posted::pending);
    REQUIRE(t.takes.begin(t.from(), t.arrived(), got, 8, t.ranks[0].links) == posted::pending);
    CHECK_FALSE(t.takes.has_news());
    const auto [taken, sent] = t.ended();
    CHECK((taken.what == event::kind::complete && taken.id == 8 && taken.peer == 1 && taken.code == errc::ok));
    CHECK((sent.what == event::kind::complete && sent.id == 7 && sent.peer == 0 && sent.code == errc::ok));
    CHECK(got == bytes);
}

TEST_CASE("shared_long_takes: a take ends when its message is taken back") {
    two_ranks t({.direct_reads = false});
    const auto bytes = pattern(1'000'003);
    std::vector<std::byte> got(bytes.size());
    REQUIRE(t.post(bytes, 7) == posted::pending);
    REQUIRE(t.takes.begin(t.from(), t.arrived(), got, 8, t.ranks[0].links) == posted::pending);
    t.sends.go_on({}, t.ranks[1].links); // the first pieces
    CHECK_FALSE(t.sends.cancel(6, t.ranks[1].mine, t.ranks[1].links));
    CHECK(t.sends.cancel(7, t.ranks[1].mine, t.ranks[1].links));
    CHECK(t.takes.has_news());
    const auto [taken, sent] = t.ended();
    CHECK((taken.code == errc::peer_aborted && sent.code == errc::cancelled));
}

TEST_CASE("shared_long_takes: a take that is cancelled lets the sender go on") {
    two_ranks t({.direct_reads = false});
    const auto bytes = pattern(1'000'003);
    std::vector<std::byte> got(bytes.size());
    REQUIRE(t.post(bytes, 7) == posted::pending);
    REQUIRE(t.takes.begin(t.from(), t.arrived(), got, 8, t.ranks[0].links) == posted::pending);
    CHECK_FALSE(t.takes.cancel(9, t.ranks[0].links));
    CHECK(t.takes.cancel(8, t.ranks[0].links));
    CHECK(t.takes.has_news());
    const auto before = got;
    const auto [taken, sent] = t.ended();
    CHECK((taken.code == errc::cancelled && sent.code == errc::ok));
    CHECK(got == before);
}

TEST_CASE("shared_long_takes: the rest of a message is read from its sender's memory if the sender is silent") {
    for (const int turns : {0, 1, 3}) { // of the sender, before it falls silent
        two_ranks t({});
        if (!t.from().process.reads_it) return; // the kernel does not allow it here
        t.takes = shared_long_takes(2, 1e-6);
        const auto bytes = pattern(1'000'003);
        std::vector<std::byte> got(bytes.size());
        REQUIRE(t.post(bytes, 7) == posted::pending);
        REQUIRE(t.takes.begin(t.from(), t.arrived(), got, 8, t.ranks[0].links) == posted::pending);
        event e;
        for (int i = 0; i != turns; ++i) {
            t.sends.go_on({}, t.ranks[1].links);
            CHECK(t.takes.go_on(std::span(&e, 1), t.ranks[0].links) == 0); // pieces have come
        }
        t.sends.go_on({}, t.ranks[1].links);
        if (turns == 0) CHECK(t.takes.read_all(t.ranks[0].links)); // before it looks at pieces
        bool taken = false;
        for (int i = 0; i != 1000 && !taken; ++i) taken = t.takes.go_on(std::span(&e, 1), t.ranks[0].links) == 1;
        REQUIRE(taken);
        CHECK((e.id == 8 && e.code == errc::ok));
        CHECK(got == bytes);
        CHECK(t.from().silence.counts() == (turns == 0)); // one that has turned to something else is asked again
        CHECK_FALSE(t.from().silence.counts());
        REQUIRE(t.sends.go_on(std::span(&e, 1), t.ranks[1].links) == 1);
        CHECK((e.id == 7 && e.code == errc::ok));

        // Pieces that nobody needs any more do not get into the next message.
        const auto next = pattern(700'001);
        got.assign(next.size(), std::byte{});
        REQUIRE(t.post(next, 9) == posted::pending);
        t.takes = shared_long_takes(2, 1e6);
        REQUIRE(t.takes.begin(t.from(), t.arrived(), got, 10, t.ranks[0].links) == posted::pending);
        const auto [last, sent] = t.ended();
        CHECK((last.id == 10 && last.code == errc::ok && sent.id == 9));
        CHECK(got == next);
        CHECK_FALSE(t.from().in.broken());
    }
}

TEST_CASE("shared_long_takes: a sender is not called silent before its message could have been read") {
    two_ranks t({});
    t.takes = shared_long_takes(2, 1e6);
    const auto bytes = pattern(1'000'003);
    std::vector<std::byte> got(bytes.size());
    REQUIRE(t.post(bytes, 7) == posted::pending);
    REQUIRE(t.takes.begin(t.from(), t.arrived(), got, 8, t.ranks[0].links) == posted::pending);
    event e;
    for (int i = 0; i != 1000; ++i) CHECK(t.takes.go_on(std::span(&e, 1), t.ranks[0].links) == 0);
    CHECK_FALSE(t.takes.has_news());
    const auto [taken, sent] = t.ended();
    CHECK((taken.code == errc::ok && got == bytes));
    CHECK_FALSE(t.from().silence.counts());
}

namespace {

// What a take in pieces brings. The pieces come through `events`, so many at a time.
std::vector<std::byte> taken_in_pieces(two_ranks& t, std::uint32_t index, std::uint32_t grain, bool direct,
                                       std::size_t events_at_a_time, errc& code, int sender_turns = 1'000'000) {
    std::vector<std::byte> got;
    std::vector<event> events(events_at_a_time);
    REQUIRE(t.takes.begin_pieces(t.from(), index, grain, direct, 8, t.ranks[0].links) == posted::pending);
    bool ended = false, sent = false;
    for (int i = 0; i != 100'000 && !(ended && sent); ++i) {
        event e;
        if (i < sender_turns || ended) sent |= t.sends.go_on(std::span(&e, 1), t.ranks[1].links) == 1;
        const std::size_t found = t.takes.go_on(events, t.ranks[0].links);
        for (const event& now : std::span(events).first(found)) {
            CHECK((now.id == 8 && now.peer == 1 && !ended));
            if (now.what == event::kind::complete) {
                ended = true;
                code = now.code;
                continue;
            }
            REQUIRE(now.what == event::kind::piece);
            CHECK((now.bytes != 0 && now.bytes % grain == 0));
            got.insert(got.end(), now.data, now.data + now.bytes);
        }
    }
    event none;
    CHECK(t.takes.go_on(std::span(&none, 1), t.ranks[0].links) == 0);
    CHECK((ended && sent && t.takes.empty()));
    return got;
}

} // namespace

TEST_CASE("shared_long_takes: a message is handed over in pieces of whole grains, whoever reads it") {
    two_ranks t({});
    for (const bool direct : {false, true})
        for (const std::uint32_t grain : {1u, 8u, 24u, 1000u, 65536u})
            for (const std::size_t at_a_time : {1u, 2u, 8u}) {
                if (direct && !t.from().process.reads_it) continue; // the kernel does not allow it here
                const auto bytes = pattern(std::size_t{grain} * (700'000 / grain));
                CAPTURE(direct, grain, at_a_time);
                REQUIRE(t.post(bytes, 7) == posted::pending);
                t.takes = shared_long_takes(2, 1e6); // nobody is called silent
                errc code = errc::would_block;
                CHECK(taken_in_pieces(t, t.arrived(), grain, direct, at_a_time, code) == bytes);
                CHECK(code == errc::ok);
            }
}

TEST_CASE("shared_long_takes: pieces are read directly once their sender is silent") {
    for (const int turns : {0, 1, 2, 5}) { // of the sender, before it falls silent
        two_ranks t({});
        if (!t.from().process.reads_it) return;
        t.takes = shared_long_takes(2, 1e-6);
        for (const std::uint32_t grain : {1u, 24u, 40'000u}) {
            const auto bytes = pattern(std::size_t{grain} * (900'000 / grain));
            REQUIRE(t.post(bytes, 7) == posted::pending);
            errc code = errc::would_block;
            CAPTURE(turns, grain);
            CHECK(taken_in_pieces(t, t.arrived(), grain, false, 2, code, turns) == bytes);
            CHECK(code == errc::ok);
        }
    }
}

TEST_CASE("shared_long_takes: a piece that was handed over stays as it is until the next call") {
    two_ranks t({});
    const auto bytes = pattern(1'000'000);
    REQUIRE(t.post(bytes, 7) == posted::pending);
    REQUIRE(t.takes.begin_pieces(t.from(), t.arrived(), 8, false, 8, t.ranks[0].links) == posted::pending);
    t.sends.go_on({}, t.ranks[1].links);
    std::array<event, 4> events;
    CHECK(t.takes.go_on({}, t.ranks[0].links) == 0);       // no room
    REQUIRE(t.takes.go_on(events, t.ranks[0].links) == 1); // one of each sender at a time
    for (int i = 0; i != 10; ++i) t.sends.go_on({}, t.ranks[1].links);
    CHECK(std::equal(events[0].data, events[0].data + events[0].bytes, bytes.begin()));
    CHECK(t.takes.cancel(8, t.ranks[0].links)); // with a piece still handed over
    CHECK(std::equal(events[0].data, events[0].data + events[0].bytes, bytes.begin()));
    REQUIRE(t.takes.go_on(events, t.ranks[0].links) == 1);
    CHECK((events[0].what == event::kind::complete && events[0].code == errc::cancelled));
    CHECK(t.takes.empty());
    event sent;
    REQUIRE(t.sends.go_on(std::span(&sent, 1), t.ranks[1].links) == 1);
    CHECK(sent.code == errc::ok);
    // What was left in the ring does not get into the next message.
    const auto next = pattern(800'000);
    REQUIRE(t.post(next, 9) == posted::pending);
    errc code = errc::would_block;
    CHECK(taken_in_pieces(t, t.arrived(), 8, false, 8, code) == next);
}

TEST_CASE("shared_long_takes: nothing of a message is handed over after it was taken back") {
    for (const bool direct : {false, true}) {
        two_ranks t({});
        if (direct && !t.from().process.reads_it) return;
        const auto bytes = pattern(1'000'000);
        REQUIRE(t.post(bytes, 7) == posted::pending);
        REQUIRE(t.takes.begin_pieces(t.from(), t.arrived(), 8, direct, 8, t.ranks[0].links) == posted::pending);
        t.sends.go_on({}, t.ranks[1].links);
        std::array<event, 1> one;
        REQUIRE(t.takes.go_on(one, t.ranks[0].links) == 1);
        CHECK(one[0].what == event::kind::piece);
        CHECK(t.sends.cancel(7, t.ranks[1].mine, t.ranks[1].links));
        CHECK(t.takes.has_news());
        if (!direct) { // what the sender had copied out before was sent
            while (t.takes.go_on(one, t.ranks[0].links) == 1 && one[0].what == event::kind::piece) {
            }
        } else {
            REQUIRE(t.takes.go_on(one, t.ranks[0].links) == 1);
        }
        CHECK((one[0].what == event::kind::complete && one[0].code == errc::peer_aborted));
        CHECK(t.takes.empty());
    }
}

TEST_CASE("shared_long_takes: a piece that is read while its message is taken back is not handed over") {
    two_ranks t({});
    if (!t.from().process.reads_it) return;
    const auto bytes = pattern(2'000'000);
    std::vector<std::byte> mine = bytes;
    int taken_back = 0, wrong = 0;
    for (unsigned round = 0; round != 200; ++round) {
        std::copy(bytes.begin(), bytes.end(), mine.begin());
        REQUIRE(t.post(mine, 7) == posted::pending);
        REQUIRE(t.takes.begin_pieces(t.from(), t.arrived(), 8, true, 8, t.ranks[0].links) == posted::pending);
        std::atomic<bool> over{false};
        std::thread sender([&] {
            for (unsigned i = 0; i != round * 97; ++i) relax();
            t.sends.cancel(7, t.ranks[1].mine, t.ranks[1].links);
            event e;
            while (t.sends.go_on(std::span(&e, 1), t.ranks[1].links) == 0) relax();
            std::fill(mine.begin(), mine.end(), std::byte{0xee}); // they are the sender's again
            over = true;
        });
        std::size_t at = 0;
        event e;
        do {
            if (t.takes.go_on(std::span(&e, 1), t.ranks[0].links) == 0) continue;
            if (e.what == event::kind::piece) {
                wrong += !std::equal(e.data, e.data + e.bytes, bytes.begin() + static_cast<std::ptrdiff_t>(at));
                at += static_cast<std::size_t>(e.bytes);
            }
        } while (e.what != event::kind::complete);
        taken_back += e.code == errc::peer_aborted;
        wrong += e.code == errc::ok && at != bytes.size();
        sender.join();
        CHECK(over);
    }
    CHECK(wrong == 0);
    CHECK(taken_back != 0);
}

TEST_CASE("shared_long_takes: a sender whose pieces are no whole grains, or too many, is not believed") {
    for (const int how : {0, 1, 2}) {
        two_ranks t({});
        const auto bytes = pattern(1'000'000);
        REQUIRE(t.post(bytes, 7) == posted::pending);
        REQUIRE(t.takes.begin_pieces(t.from(), t.arrived(), 8, false, 8, t.ranks[0].links) == posted::pending);
        t.sends.go_on({}, t.ranks[1].links);
        const segment_layout layout = layout_of(2, {});
        auto* const ring = t.ranks[0].mine.data() + layout.ring_at(1, 0);
        stage_line& line = ring_view::at(ring, layout).head->stage[0];
        line.bytes = how == 0 ? 65535u : how == 1 ? 65537u : 0u;
        std::array<event, 4> events;
        CHECK(t.takes.go_on(events, t.ranks[0].links) == 0);
        CHECK(t.from().in.broken());
    }
}

TEST_CASE("shared_silence: each time that a sender is silent again, twice as many messages are read directly") {
    shared_silence s;
    const auto length = [&s] {
        int n = 0;
        while (s.counts()) ++n;
        return n;
    };
    CHECK(length() == 0);
    for (const int expected : {1, 2, 4, 8, 16, 32, 64, 64}) {
        s.noticed();
        CHECK(length() == expected);
    }
    s.ended();
    s.noticed();
    CHECK(length() == 1);
}

TEST_CASE("read_private: reads a message where it lies, unless it was taken back") {
    two_ranks t({});
    if (!t.from().process.reads_it) return; // the kernel does not allow it here
    const auto bytes = pattern(300'001);
    std::vector<std::byte> got(bytes.size());
    REQUIRE(t.post(bytes, 7) == posted::pending);
    const std::uint32_t first = t.arrived();
    CHECK(read_private(t.ranks[0].links, t.from(), first, got));
    CHECK(got == bytes);
    CHECK(t.from().in.give_back(first));
    t.from().in.release(first);
    event e;
    REQUIRE(t.sends.go_on(std::span(&e, 1), t.ranks[1].links) == 1);
    CHECK((e.id == 7 && e.code == errc::ok && t.sends.empty()));

    REQUIRE(t.post(bytes, 8) == posted::pending);
    const std::uint32_t second = t.arrived();
    CHECK(t.sends.cancel(8, t.ranks[1].mine, t.ranks[1].links));
    CHECK_FALSE(read_private(t.ranks[0].links, t.from(), second, got));
    CHECK_FALSE(t.from().in.broken());
}

TEST_CASE("shared_long_sends: memory of the heap is read in place from 4 KiB on") {
    two_ranks t({.heap_bytes = 1 << 16});
    const auto none = [](const shared_reader&) { return true; };
    const std::span<std::byte> piece = t.ranks[1].mine.allocate(8192, none);
    REQUIRE(piece.size() == 8192);
    CHECK(shared_long_sends::is_long(t.to(), piece.first(4096), t.ranks[1].mine));
    CHECK_FALSE(shared_long_sends::is_long(t.to(), piece.first(4095), t.ranks[1].mine));
    REQUIRE(t.post(piece, 7) == posted::pending);
    const std::uint32_t index = t.arrived();
    CHECK(t.from().in.at(index).where == in_segment);
    CHECK(t.from().in.at(index).data != piece.data()); // another mapping of the same memory
    piece[17] = std::byte{42};
    CHECK(t.from().in.at(index).data[17] == std::byte{42});
    t.sends.cancel_all();
    CHECK_FALSE(t.from().in.claim(index));
}
