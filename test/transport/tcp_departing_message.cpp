// SPDX-License-Identifier: BSL-1.0
// Long messages in parts: short messages that are sent behind them come before their end.
//   BOUGH_TEST_ALL=1   2,000 random conversations instead of 100
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/tcp_pipe.hpp"
#include <bough/core/random.hpp>
#include <bough/transport/tcp/departing_message.hpp>
#include <bough/transport/tcp/incoming.hpp>
#include <bough/transport/tcp/outgoing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

std::byte content(std::uint32_t message, std::size_t i) { return static_cast<std::byte>((message * 37 + i * 7) % 251); }

// Messages with numbers, from one end to the other.
struct conversation {
    enum class fate { unknown, announced, taking, read, cancelled };
    struct message {
        std::vector<std::byte> sent, got{};
        std::uint64_t handle = 0;
        fate receiver = fate::unknown;
        bool pending = false, taken_back = false, may_be_void = false;
    };

    explicit conversation(std::uint64_t cap, std::uint64_t window)
        : memory(std::make_unique<tcp_memory>(cap)), out(window), in(*memory, 1, cap, window) {}

    posted post(std::size_t bytes) {
        const auto number = static_cast<std::uint32_t>(all.size());
        message& m = all[number];
        m.sent.resize(bytes);
        for (std::size_t i = 0; i != bytes; ++i) m.sent[i] = content(number, i);
        const posted result = out.post(wire, {.operation = number}, m.sent, number);
        m.pending = result == posted::pending;
        if (result == posted::would_block) all.erase(number);
        return result;
    }
    void flush() {
        out.new_turn();
        out.flush(wire, [&](std::uint64_t id) { all[static_cast<std::uint32_t>(id)].pending = false; });
        REQUIRE(out.handed_over() <= out.accepted());
    }
    void cancel(std::uint32_t number) {
        message& m = all[number];
        bool went_out = false;
        REQUIRE(out.cancel(number, went_out));
        m.pending = false;
        m.taken_back = !went_out;
        if (!went_out) std::fill(m.sent.begin(), m.sent.end(), std::byte{0xee}); // it is its owner's
    }
    // One poll with room for so many events. Returns the numbers of the messages that have come.
    std::vector<std::uint32_t> poll(std::size_t room = 8) {
        std::array<event, 8> events;
        bool moved = false;
        const std::size_t found = in.poll(wire, std::span(events).first(room), ends, moved);
        std::vector<std::uint32_t> came;
        for (const event& e : std::span(events).first(found)) {
            const std::uint32_t number = e.envelope.operation;
            came.push_back(number);
            for (; expected != number; ++expected) REQUIRE(all.at(expected).taken_back); // they keep their order
            ++expected;
            message& m = all.at(number);
            REQUIRE(e.bytes == m.sent.size());
            m.receiver = fate::announced;
            m.handle = e.id;
        }
        while (!ends.empty()) {
            const event e = ends.take();
            message& m = all.at(static_cast<std::uint32_t>(e.id));
            REQUIRE(m.receiver == fate::taking);
            finish(m, e.code == errc::ok);
        }
        REQUIRE(in.fault() == errc::ok);
        if (in.window().owes_credit()) {
            REQUIRE(out.credit(in.window().used_up()));
            in.window().credit_given();
        }
        return came;
    }
    void take(std::uint32_t number) {
        message& m = all.at(number);
        tcp_arrival* a = memory->find(m.handle);
        REQUIRE(a != nullptr);
        m.got.resize(m.sent.size());
        m.receiver = fate::taking;
        if (a->at == tcp_arrival::place::stream) {
            const posted result = in.take(wire, m.got, number);
            if (result == posted::pending) return;
            if (result == posted::failed) memory->remove(m.handle);
            return finish(m, result == posted::complete);
        }
        const bool is_whole = a->at != tcp_arrival::place::void_;
        if (is_whole && !m.got.empty()) std::memcpy(m.got.data(), a->data, m.got.size());
        memory->remove(m.handle);
        finish(m, is_whole);
    }
    tcp_arrival::place place_of(std::uint32_t number) { return memory->find(all.at(number).handle)->at; }
    void release(std::uint32_t number) {
        message& m = all.at(number);
        m.receiver = fate::cancelled;
        if (in.is_stream(m.handle))
            in.release();
        else
            memory->remove(m.handle);
    }
    void finish(message& m, bool is_whole) {
        m.receiver = fate::read;
        REQUIRE(is_whole == !m.taken_back);
        if (is_whole) REQUIRE(m.got == m.sent);
    }

    std::unique_ptr<tcp_memory> memory;
    bough_test::tcp_pipe wire;
    tcp_outgoing out;
    tcp_incoming in;
    due_events ends;
    std::map<std::uint32_t, message> all;
    std::uint32_t expected = 0;
};

constexpr std::size_t two_parts = 2 * part_bytes;

} // namespace

TEST_CASE("tcp_departing_message: where parts end, and the headers of gaps") {
    STATIC_REQUIRE(!is_gap(0, two_parts));
    STATIC_REQUIRE(is_gap(part_bytes, two_parts));
    STATIC_REQUIRE(!is_gap(two_parts, two_parts)); // the tail is next
    STATIC_REQUIRE(part_end(0, part_bytes + 1) == part_bytes);
    STATIC_REQUIRE(part_end(part_bytes, part_bytes + 1) == part_bytes + 1);
    STATIC_REQUIRE(part_end(7, 9) == 9);
    STATIC_REQUIRE((gaps_in(0) == 0 && gaps_in(part_bytes) == 0 && gaps_in(part_bytes + 1) == 1));
    STATIC_REQUIRE((gaps_in(two_parts) == 1 && gaps_in(two_parts + 1) == 2));
    STATIC_REQUIRE([] {
        std::uint64_t bytes = 1;
        return decode_gap(encode_gap(0), bytes) && bytes == 0 && decode_gap(encode_gap(4096), bytes) && bytes == 4096 &&
               !decode_gap(encode_gap(8), bytes) && !decode_gap(encode_gap(most_gap_bytes + 16), bytes);
    }());
    for (std::size_t i = 4; i != gap_header{}.size(); ++i) {
        gap_header wrong = encode_gap(64);
        wrong[i] = std::byte{1};
        std::uint64_t bytes = 0;
        CHECK_FALSE(decode_gap(wrong, bytes));
    }
}

TEST_CASE("tcp_departing_message: a short message overtakes a long one in the next gap, after any number of bytes") {
    const std::size_t all = frame_header_bytes + 2 * two_parts;
    for (std::size_t n = 0; n < all; n += n % part_bytes < 200 ? 1 : 30'011) {
        CAPTURE(n);
        conversation c(1 << 20, 1 << 20);
        c.wire.room = n;
        REQUIRE(c.post(2 * two_parts) == posted::pending);
        REQUIRE(c.post(8) == posted::complete);
        const std::uint64_t mine = c.out.accepted();
        CHECK(c.post(two_parts) == posted::would_block); // until the first one has left
        const std::uint64_t next =
            (n <= frame_header_bytes ? 0 : n - frame_header_bytes) / (part_bytes + frame_alignment);
        const bool is_behind = next >= 3; // no gap is left, or the last one has perhaps begun
        c.wire.room = part_bytes + 200;
        c.flush();
        c.flush();
        CHECK((is_behind || c.out.handed_over() >= mine));
        std::vector<std::uint32_t> came = c.poll();
        REQUIRE(!came.empty());
        c.take(0);
        for (int i = 0; i != 8; ++i)
            for (const std::uint32_t number : c.poll()) came.push_back(number);
        CHECK((is_behind || came == std::vector<std::uint32_t>{0, 1}));
        CHECK((is_behind || c.all[0].receiver == conversation::fate::taking)); // it has not come whole yet
        c.wire.room = ~std::size_t{0};
        for (int i = 0; i != 12; ++i) {
            c.flush();
            for (const std::uint32_t number : c.poll()) came.push_back(number);
        }
        CHECK(came == std::vector<std::uint32_t>{0, 1});
        CHECK(c.all[0].receiver == conversation::fate::read);
        c.take(1);
        CHECK(c.all[1].receiver == conversation::fate::read);
        CHECK((c.out.idle() && c.out.handed_over() == c.out.accepted()));
    }
}

TEST_CASE("tcp_departing_message: however fast the peer reads, a turn writes little more than a part") {
    conversation c(1 << 20, 1 << 20);
    REQUIRE(c.post(6 * part_bytes) == posted::pending);
    CHECK(c.wire.writes == 1);
    CHECK(c.post(8) == posted::complete); // in the first gap
    for (int turn = 2; turn != 7; ++turn) {
        CHECK((c.all[0].pending && c.wire.writes == turn - 1));
        const std::size_t before = c.wire.bytes.size();
        c.flush();
        CHECK(c.wire.bytes.size() - before < part_bytes + 200);
    }
    CHECK((!c.all[0].pending && c.out.idle()));
    CHECK(c.out.handed_over() == 2);
    REQUIRE(c.post(two_parts) == posted::would_block); // not in this turn any more
    c.out.new_turn();
    REQUIRE(c.post(two_parts) == posted::pending);
}

// A rank that leaves sends what it has copied. Zeros for the rest of a long message are only sent as far as there is
// something behind it.
TEST_CASE("tcp_departing_message: a rank that leaves drops a long message when nothing is left behind it") {
    const bool has_overtaken = GENERATE(true, false);
    conversation c(1 << 20, 1 << 20);
    c.wire.room = frame_header_bytes + part_bytes / 2;
    REQUIRE(c.post(8 * part_bytes) == posted::pending);
    REQUIRE(c.post(8) == posted::complete);
    if (has_overtaken) {
        c.wire.room = part_bytes;
        c.flush();
    }
    const std::size_t before = c.wire.bytes.size();
    c.wire.room = has_overtaken ? 0 : ~std::size_t{0};
    for (int i = 0; i != 3; ++i) {
        c.out.keep_copied();
        c.flush();
    }
    CHECK(c.out.idle());
    CHECK(c.wire.bytes.size() - before < 2 * part_bytes);
    std::vector<std::uint32_t> came = c.poll();
    c.release(0);
    for (int i = 0; i != 4; ++i)
        for (const std::uint32_t number : c.poll()) came.push_back(number);
    CHECK(came == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("tcp_departing_message: what no gap may have is a protocol error") {
    const auto fault_of = [](auto&& change) {
        conversation c(1 << 20, 1 << 20);
        c.wire.room = frame_header_bytes + part_bytes;
        REQUIRE(c.post(two_parts) == posted::pending);
        REQUIRE(c.post(8) == posted::complete);
        c.wire.room = ~std::size_t{0};
        c.flush();
        const std::size_t gap = frame_header_bytes + part_bytes;
        change(std::span(c.wire.bytes).subspan(gap));
        std::array<event, 8> events;
        bool moved = false;
        REQUIRE(c.in.poll(c.wire, events, c.ends, moved) == 1);
        std::vector<std::byte> into(two_parts);
        (void)c.in.take(c.wire, into, 7);
        for (int i = 0; i != 4; ++i) (void)c.in.poll(c.wire, events, c.ends, moved);
        return c.in.fault();
    };
    const std::size_t frame_kind_at = frame_alignment + 44; // behind envelope, length and sequence
    CHECK(fault_of([](auto) {}) == errc::ok);
    CHECK(fault_of([](auto gap) { gap[4] = std::byte{1}; }) == errc::protocol_error);  // a bit without meaning
    CHECK(fault_of([](auto gap) { gap[0] = std::byte{8}; }) == errc::protocol_error);  // no frames are so short
    CHECK(fault_of([](auto gap) { gap[0] = std::byte{16}; }) == errc::protocol_error); // shorter than its frame
    CHECK(fault_of([&](auto gap) { gap[frame_kind_at] = std::byte{2}; }) == errc::protocol_error);     // a long message
    CHECK(fault_of([&](auto gap) { gap[frame_kind_at - 4] = std::byte{9}; }) == errc::protocol_error); // a sequence
}

// A long message is read into memory of its own. There is no chunk left for a short one in its gap; whichever of the
// two is taken first.
TEST_CASE("tcp_departing_message: a short message in a gap for which there is no chunk") {
    const bool long_first = GENERATE(true, false);
    conversation c(tcp_chunk::capacity + two_parts + 100, tcp_chunk::capacity);
    for (int i = 0; i != 3; ++i) REQUIRE(c.post(most_short_bytes) == posted::complete); // they fill the only chunk
    c.flush();
    c.wire.room = frame_header_bytes + part_bytes;
    REQUIRE(c.post(two_parts) == posted::pending);
    REQUIRE(c.post(16'000) == posted::complete);
    for (int i = 0; i != 30; ++i) c.poll(); // nobody takes the long one
    c.wire.room = ~std::size_t{0};
    for (int i = 0; i != 8; ++i) {
        c.flush();
        c.poll();
    }
    REQUIRE(c.all[4].receiver == conversation::fate::announced);
    CHECK((!c.in.is_stream(c.all[3].handle) &&
           c.place_of(3) == tcp_arrival::place::own)); // it has come past the short one
    CHECK(c.place_of(4) == tcp_arrival::place::own);
    c.take(long_first ? 3 : 4);
    c.take(long_first ? 4 : 3);
    CHECK((c.all[3].receiver == conversation::fate::read && c.all[4].receiver == conversation::fate::read));
}

TEST_CASE("tcp_departing_message: random messages come in order, whole, each once") {
    int overtaken = 0, alone = 0;
    for (std::uint64_t seed = 1; seed != 2'001; ++seed) {
        if (!bough_test::sampled(seed, 20)) continue;
        CAPTURE(seed);
        split_mix random(seed);
        constexpr auto part = static_cast<std::size_t>(part_bytes),
                       longest = static_cast<std::size_t>(most_short_bytes);
        const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random.below(n)); };
        // With little memory some short messages, in gaps too, find no chunk. With more, a long message may be
        // read into memory meanwhile.
        const std::uint64_t memory = below(4);
        const bool has_little = memory < 2;
        const std::uint64_t cap = memory == 0   ? tcp_chunk::capacity
                                  : memory == 1 ? tcp_chunk::capacity + two_parts
                                                : std::uint64_t{4} << 20;
        conversation c(cap, has_little ? std::uint64_t{tcp_chunk::capacity} : cap / 4);
        const std::size_t messages = 5 + below(40);
        std::vector<std::uint32_t> kept;
        for (int still = 0; still != 300;) {
            c.wire.room = below(4) == 0 ? below(3 * part) : below(2'000);
            if (c.all.size() != messages && below(2) == 0) {
                const std::uint64_t kind = below(6);
                c.post(kind == 0   ? below(5 * part)
                       : kind == 1 ? longest + 1 + below(100)
                       : kind == 2 ? part * below(4)
                       : kind == 3 ? below(longest + 1)
                                   : below(200));
            }
            if (!c.all.empty() && below(40) == 0)
                if (const auto number = static_cast<std::uint32_t>(below(c.all.size())); c.all[number].pending)
                    c.cancel(number);
            c.flush();
            for (const std::uint32_t number : c.poll(1 + below(8))) {
                kept.push_back(number);
                alone += c.all[number].sent.size() <= most_short_bytes && c.place_of(number) == tcp_arrival::place::own;
                for (const auto& [other, m] : c.all)
                    overtaken += other < number && m.receiver == conversation::fate::taking;
            }
            // The receiver takes them in an order of its own, and some never.
            while (!kept.empty() && (below(3) == 0) == has_little) {
                const std::size_t which = below(kept.size());
                below(12) == 0 ? c.release(kept[which]) : c.take(kept[which]);
                kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(which));
            }
            const bool is_over = c.all.size() == messages && c.out.idle() && kept.empty() && c.wire.coming() == 0;
            still = is_over ? still + 1 : 0;
        }
        for (auto& [number, m] : c.all) {
            CAPTURE(number);
            using fate = conversation::fate;
            REQUIRE((m.receiver == fate::read || m.receiver == fate::cancelled ||
                     (m.receiver == fate::unknown && m.taken_back)));
        }
        CHECK(c.out.handed_over() == c.out.accepted());
        due_events ends;
        c.in.drop(ends);
        CHECK((ends.empty() && c.memory->used() == 0 && c.memory->arrivals() == 0));
    }
    CHECK(overtaken > 20);
    CHECK(alone > 20);
}
