// SPDX-License-Identifier: BSL-1.0
// What a connection sends, byte for byte, through a stream that takes as few bytes as one likes.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/transport/tcp/outgoing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// Takes `room` bytes in all, and no more than `at_once` with one call.
struct narrow_stream {
    std::size_t room = ~std::size_t{0}, at_once = ~std::size_t{0};
    std::vector<std::byte> bytes{};
    int calls = 0;

    io_result write(const io_vectors<const std::byte>& from, std::size_t& n) {
        n = 0;
        ++calls;
        for (const auto piece : from) {
            const std::size_t some = std::min({piece.size(), room, at_once - n});
            const auto* data = static_cast<const std::byte*>(piece.data());
            bytes.insert(bytes.end(), data, data + some);
            n += some;
            room -= some;
            if (some != piece.size()) break;
        }
        return n == 0 ? io_result::would_block : io_result::some;
    }
    io_result write(std::span<const std::byte> from, std::size_t& n) {
        io_vectors<const std::byte> one;
        one.add(from);
        return write(one, n);
    }
};

struct seen_frame {
    frame head;
    std::vector<std::byte> payload;
    std::byte verdict{};
};
// The whole frames at the start of `bytes`. Checks each, and what it is padded with.
std::vector<seen_frame> frames_in(std::span<const std::byte> bytes, std::size_t* rest = nullptr) {
    std::vector<seen_frame> all;
    for (;;) {
        if (rest != nullptr) *rest = bytes.size();
        if (bytes.size() < frame_header_bytes) return all;
        frame_header header;
        std::copy_n(bytes.begin(), header.size(), header.begin());
        seen_frame f;
        const frame_fault fault = decode_frame(header, static_cast<std::uint32_t>(all.size()), f.head);
        if (fault != frame_fault::none) {
            CAPTURE(static_cast<int>(fault), all.size());
            FAIL("not the next frame");
        }
        const auto payload = static_cast<std::size_t>(frame_payload_bytes(f.head));
        const std::size_t tail = frame_tail_bytes(f.head.kind, payload);
        if (bytes.size() < header.size() + payload + tail) return all;
        const auto body = bytes.subspan(header.size(), payload);
        f.payload.assign(body.begin(), body.end());
        if (tail != 0) f.verdict = bytes[header.size() + payload + tail - 1];
        bytes = bytes.subspan(header.size() + payload + tail);
        all.push_back(std::move(f));
    }
}

constexpr std::uint64_t window = 1 << 20;
const auto nobody = [](std::uint64_t) { FAIL("a post ends that was cancelled, or never pending"); };

std::vector<std::byte> content(std::size_t bytes, std::uint32_t number) {
    std::vector<std::byte> all(bytes);
    for (std::size_t i = 0; i != bytes; ++i) all[i] = static_cast<std::byte>(1 + (i * 7 + number) % 200);
    return all;
}

// Posts with numbers, which are their ids and operations.
struct sender {
    tcp_outgoing out{window};
    narrow_stream stream{};
    std::vector<std::vector<std::byte>> sent{};

    posted post(std::size_t bytes) {
        const auto number = static_cast<std::uint32_t>(sent.size());
        sent.push_back(content(bytes, number));
        sent.reserve(100); // they stay in place
        return out.post(stream, {.operation = number}, sent.back(), number);
    }
    // As it must be: what counts as handed over is in the stream, all of it.
    void check_count() const {
        CHECK(out.handed_over() <= frames_in(stream.bytes).size());
        CHECK(out.handed_over() <= out.accepted());
    }
    bool is_as_sent(const seen_frame& f) const {
        return f.head.tag.operation < sent.size() && f.payload == sent[f.head.tag.operation];
    }
};

constexpr std::size_t longer = most_short_bytes + 1;
struct layout {
    std::vector<std::size_t> posts;
    std::size_t cancelled; // which of them
};
const std::vector<layout> layouts{
    {{longer}, 0},         {{8, longer}, 1},      {{8, 100, longer}, 2},  {{longer, 8}, 0},
    {{longer, longer}, 0}, {{longer, longer}, 1}, {{0, longer, 9, 8}, 1}, {{8, 0, longer, longer, 5}, 2}};

// How many bytes have been taken when it happens: all of the numbers about headers, and some of those in payloads.
template <class F>
void for_each_moment(const layout& l, const F& f) {
    std::size_t total = 0;
    std::vector<std::size_t> edges;
    for (const std::size_t bytes : l.posts) {
        edges.push_back(total);
        total += frame_header_bytes + bytes +
                 frame_tail_bytes(bytes > most_short_bytes ? frame_kind::long_message : frame_kind::message, bytes);
    }
    edges.push_back(total);
    for (std::size_t n = 0; n <= total; ++n) {
        const bool near_edge = std::any_of(
            edges.begin(), edges.end(), [n](std::size_t e) { return n + 40 >= e && n <= e + frame_header_bytes + 2; });
        if (near_edge || n % 1009 == 0 || bough_test::all()) f(n);
    }
}

} // namespace

TEST_CASE("tcp_outgoing: a long message is cancelled after any number of bytes") {
    for (const layout& l : layouts)
        for_each_moment(l, [&](std::size_t n) {
            sender s;
            s.stream.room = n;
            for (const std::size_t bytes : l.posts) REQUIRE(s.post(bytes) != posted::would_block);
            s.out.flush(s.stream, [&](std::uint64_t id) {
                if (id == l.cancelled) n = ~std::size_t{0}; // it has gone out whole
            });
            if (n == ~std::size_t{0} || s.stream.room != 0) return;
            CAPTURE(l.posts.size(), l.cancelled, n);
            s.check_count();
            const std::size_t frames = frames_in(s.stream.bytes).size();
            bool went_out = false;
            if (!s.out.cancel(l.cancelled, went_out)) {
                CHECK(frames > l.cancelled);
                return;
            }
            CHECK_FALSE(s.out.cancel(l.cancelled, went_out)); // once
            // From here on its owner does what he likes with the memory.
            const std::vector<std::byte> before = s.sent[l.cancelled];
            std::fill(s.sent[l.cancelled].begin(), s.sent[l.cancelled].end(), std::byte{0xdd});
            std::size_t started = 0;
            frames_in(s.stream.bytes, &started);
            if (frames != l.cancelled) started = 0;
            s.stream.room = ~std::size_t{0};
            s.stream.at_once = 100 + n % 5'000;
            REQUIRE(s.post(24) == posted::complete);
            for (int i = 0; i != 1'000 && !s.out.idle(); ++i) {
                s.out.flush(s.stream, [&](std::uint64_t id) { CHECK(id != l.cancelled); });
                s.check_count();
            }
            std::size_t rest = 0;
            const std::vector<seen_frame> seen = frames_in(s.stream.bytes, &rest);
            REQUIRE(rest == 0);
            REQUIRE(seen.size() == s.sent.size());
            CHECK(s.out.handed_over() == seen.size());
            for (std::size_t i = 0; i != seen.size(); ++i) {
                if (i != l.cancelled) {
                    CHECK(s.is_as_sent(seen[i]));
                    CHECK((s.sent[i].size() <= most_short_bytes || seen[i].verdict == whole_message));
                } else if (seen[i].head.kind == frame_kind::nothing) {
                    CHECK(started == 0);
                } else {
                    CHECK(started != 0);
                    CHECK(seen[i].head.bytes == before.size());
                    // Its bytes as they were, as far as they had left, and none of those that are his now.
                    const auto left = static_cast<std::ptrdiff_t>(
                        std::min(before.size(), started - std::min(started, frame_header_bytes)));
                    CHECK(std::equal(before.begin(), before.begin() + left, seen[i].payload.begin()));
                    CHECK(std::count(seen[i].payload.begin(), seen[i].payload.end(), std::byte{0xdd}) == 0);
                    const bool is_whole = seen[i].payload == before && seen[i].verdict == whole_message;
                    CHECK(is_whole == went_out);
                    CHECK((went_out || seen[i].verdict == void_message));
                }
            }
        });
}

TEST_CASE("tcp_outgoing: what was copied goes out after any number of bytes, though its owner leaves") {
    for (const layout& l : layouts)
        for_each_moment(l, [&](std::size_t n) {
            sender s;
            s.stream.room = n;
            for (const std::size_t bytes : l.posts) REQUIRE(s.post(bytes) != posted::would_block);
            CAPTURE(l.posts.size(), n);
            s.out.keep_copied();
            for (std::vector<std::byte>& bytes : s.sent)
                if (bytes.size() > most_short_bytes) bytes.assign(bytes.size(), std::byte{0xdd});
            s.stream.room = ~std::size_t{0};
            s.out.flush(s.stream, nobody);
            CHECK(s.out.idle());
            std::size_t rest = 0;
            std::size_t shorts = 0, expected = 0;
            for (const seen_frame& f : frames_in(s.stream.bytes, &rest)) {
                if (f.head.kind != frame_kind::message) continue;
                ++shorts;
                CHECK(s.is_as_sent(f));
            }
            for (const std::size_t bytes : l.posts) expected += bytes <= most_short_bytes;
            CHECK(shorts == expected);
            CHECK((rest == 0 || l.posts.back() > most_short_bytes)); // the last one may be cut off
        });
}

TEST_CASE("tcp_outgoing: what is queued has a bound, also of messages that are taken back") {
    sender s;
    s.stream.room = 0;
    REQUIRE(s.post(8) == posted::complete);
    const std::vector<std::byte> bytes(longer);
    std::size_t accepted = 0;
    for (; accepted != 100'000; ++accepted) {
        s.out.new_turn();
        if (s.out.post(s.stream, {}, bytes, 9) != posted::pending) break;
        bool went_out = false;
        REQUIRE(s.out.cancel(9, went_out));
    }
    CHECK(accepted >= 5'000);
    CHECK(accepted <= 8 * (std::size_t{32} << 10) / frame_header_bytes);
    s.stream.room = ~std::size_t{0};
    while (!s.out.idle()) s.out.flush(s.stream, nobody);
    CHECK(s.post(longer) == posted::complete);
}

TEST_CASE("tcp_outgoing: frames arrive whole and in order, however few bytes are taken at once") {
    for (const std::size_t at_once : {1u, 2u, 47u, 48u, 49u, 63u, 64u, 1000u, 20'000u, 1u << 30}) {
        CAPTURE(at_once);
        sender s;
        s.stream.at_once = at_once;
        const std::vector<std::size_t> sizes{0, 8, longer, 0, 1, 300, most_short_bytes, 24, longer + 5, longer, 0};
        std::size_t ended = 0, pending = 0;
        for (int turn = 0; s.sent.size() != sizes.size() || !s.out.idle(); ++turn) {
            REQUIRE(turn != 100'000);
            s.out.new_turn();
            s.out.flush(s.stream, [&](std::uint64_t id) {
                ++ended;
                CHECK(sizes[static_cast<std::size_t>(id)] > most_short_bytes);
            });
            if (turn % 64 == 0) s.check_count();
            if (turn % 3 == 2) continue;
            for (int k = 0; k != 3 && s.sent.size() != sizes.size(); ++k) {
                const posted result = s.post(sizes[s.sent.size()]);
                if (result == posted::would_block) {
                    s.sent.pop_back();
                    break;
                }
                pending += result == posted::pending;
            }
        }
        const std::vector<seen_frame> seen = frames_in(s.stream.bytes);
        REQUIRE(seen.size() == sizes.size());
        for (std::size_t i = 0; i != seen.size(); ++i)
            CHECK((seen[i].head.tag.operation == i && s.is_as_sent(seen[i])));
        CHECK(ended == pending);
        CHECK(s.out.accepted() == sizes.size());
        CHECK(s.out.handed_over() == sizes.size());
    }
}

TEST_CASE("tcp_outgoing: what was posted counts as handed over, whatever comes behind it") {
    sender s;
    s.stream.room = 0;
    REQUIRE(s.post(8) == posted::complete);
    REQUIRE(s.post(8) == posted::complete);
    const std::uint64_t mine = s.out.accepted();
    REQUIRE(s.post(longer) == posted::pending); // another's
    CHECK(s.out.handed_over() < mine);
    s.stream.room = 2 * short_frame_bytes(8) - 1;
    s.out.flush(s.stream, nobody);
    CHECK(s.out.handed_over() < mine);
    s.stream.room = 1;
    s.out.flush(s.stream, nobody);
    CHECK(s.out.handed_over() >= mine);
    CHECK(s.out.handed_over() < s.out.accepted());
    s.out.drop([](std::uint64_t id) { CHECK(id == 2); });
    CHECK(s.out.handed_over() == s.out.accepted()); // nothing will come of it
}

TEST_CASE("tcp_outgoing: frames of one turn leave with two calls, those of the next with another one") {
    sender s;
    for (int turn = 1; turn != 4; ++turn) {
        for (int i = 0; i != 20; ++i) REQUIRE(s.post(8) == posted::complete);
        s.out.flush(s.stream, nobody);
        CHECK(s.stream.calls == 2 * turn);
        CHECK(s.out.handed_over() == s.out.accepted());
        s.out.new_turn();
    }
}

TEST_CASE("tcp_outgoing: a message without bytes takes credit for its header") {
    constexpr std::uint64_t most = 1'000;
    tcp_outgoing out(most * frame_header_bytes);
    narrow_stream stream;
    std::uint64_t sent = 0;
    while (out.post(stream, {}, {}, 0) == posted::complete) REQUIRE(++sent <= most);
    CHECK(sent == most);
    for (const std::uint64_t given : {1u, 3u}) {
        REQUIRE(out.credit(given * frame_header_bytes));
        for (std::uint64_t i = 0; i != given; ++i) CHECK(out.post(stream, {}, {}, 0) == posted::complete);
        CHECK(out.post(stream, {}, {}, 0) == posted::would_block);
    }
    CHECK_FALSE(out.credit(most * frame_header_bytes + 1)); // more than it owes
}

TEST_CASE("tcp: messages without bytes are bounded by the window, and go on as they are used up") {
    tcp_options options;
    options.unexpected_bytes_per_peer = 256 << 10;
    const std::uint64_t most = options.unexpected_bytes_per_peer / frame_header_bytes;
    std::vector<tcp> ends = test_tcp::ends_of(2, options);
    std::array<event, 64> events;
    std::vector<std::uint64_t> held;
    const auto look = [&] { // false: nothing has come
        const std::size_t found = ends[1].poll(events);
        for (const event& e : std::span(events).first(found)) {
            REQUIRE(e.what == event::kind::arrived); // and no protocol error
            held.push_back(e.id);
        }
        std::array<event, 4> none;
        REQUIRE(ends[0].poll(none) == 0);
        return found != 0;
    };
    const auto send_all = [&] {
        std::uint64_t sent = 0;
        for (int idle = 0; idle != 2'000; ++idle)
            while (ends[0].post_send(1, {}, {}, 0) == posted::complete) {
                REQUIRE(++sent <= most);
                if (look()) idle = 0;
            }
        while (look()) {
        }
        return sent;
    };
    CHECK(send_all() == most); // nothing is used up
    CHECK(send_all() == 0);
    for (int turn = 0; turn != 3; ++turn) { // several times what the window has room for
        REQUIRE(held.size() == most);
        for (const std::uint64_t handle : std::exchange(held, {})) ends[1].release(handle);
        for (int i = 0; i != 100; ++i) look();
        CHECK(send_all() == most);
    }
}
