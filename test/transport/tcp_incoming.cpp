// SPDX-License-Identifier: BSL-1.0
// What a receiver makes of a sender that dies, or breaks the protocol, in the middle of something.
#include "support/catch.hpp"
#include "transport/tcp_pipe.hpp"
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/incoming.hpp>
#include <bough/transport/tcp/outgoing.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <vector>

using namespace bough;
using namespace bough::detail;
using bough_test::tcp_pipe;

namespace {

// A long message is being taken, and a short one lies in the gap between its two parts. Each byte of the short one
// would do as the verdict of the long one, which has 80 bytes and a tail of 16 behind the gap.
struct overtaken {
    static constexpr std::size_t gap = frame_header_bytes + part_bytes; // where it begins on the wire

    explicit overtaken(std::uint64_t cap = 4 << 20)
        : memory(std::make_unique<tcp_memory>(cap)), in(*memory, 1, cap, 1 << 20) {
        wire.room = gap;
        REQUIRE(out.post(wire, {.operation = 1}, sent, 1) == posted::pending);
        REQUIRE(out.post(wire, {.operation = 2}, small, 2) == posted::complete);
        wire.room = ~std::size_t{0};
        while (!out.idle()) {
            out.new_turn();
            out.flush(wire, [](std::uint64_t) {});
        }
    }
    // How the take of the long message ends.
    errc outcome() {
        std::array<event, 8> events;
        bool moved = false;
        REQUIRE(in.poll(wire, events, ends, moved) == 1);
        if (in.take(wire, into, 7) != posted::pending) return errc::ok;
        for (int i = 0; i != 4; ++i) came += in.poll(wire, events, ends, moved);
        return ends.empty() ? errc::would_block : ends.take().code;
    }

    std::vector<std::byte> sent = std::vector<std::byte>(part_bytes + 80, std::byte{0xaa});
    std::vector<std::byte> small = std::vector<std::byte>(1'000, whole_message),
                           into = std::vector<std::byte>(sent.size());
    std::unique_ptr<tcp_memory> memory;
    tcp_pipe wire;
    tcp_outgoing out{1 << 20};
    tcp_incoming in;
    due_events ends;
    std::size_t came = 0; // short messages
};

} // namespace

TEST_CASE("tcp_incoming: a sender dies in a gap, and what has come of a frame is no payload") {
    const std::uint64_t cap = GENERATE(std::uint64_t{4} << 20, std::uint64_t{0}); // 0: there are no chunks
    const std::size_t frame = 16 + short_frame_bytes(1'000);                      // with the header of the gap
    for (const std::size_t bytes : {1u, 16u, 17u, 56u, 64u, 100u, 160u, 500u, 1'071u}) {
        CAPTURE(cap, bytes);
        overtaken o(cap);
        REQUIRE(bytes < frame);
        o.wire.bytes.resize(overtaken::gap + bytes);
        o.wire.closed = true;
        CHECK(o.outcome() == errc::peer_dead);
        CHECK((o.came == 0 && o.in.ended() && o.in.fault() == errc::ok));
        CHECK(o.memory->arrivals() == 0);
    }
    overtaken whole(cap);
    CHECK((whole.outcome() == errc::ok && whole.into == whole.sent && whole.came == 1));
}

TEST_CASE("tcp_incoming: nothing behind a frame that breaks the protocol is payload") {
    for (const std::size_t at : {40u, 44u, 46u}) { // its sequence number, its kind, a bit without meaning
        CAPTURE(at);
        overtaken o;
        o.wire.bytes[overtaken::gap + 16 + at] ^= std::byte{8};
        CHECK(o.outcome() == errc::peer_dead);
        CHECK((o.in.ended() && o.in.fault() == errc::protocol_error));
    }
}

TEST_CASE("tcp_incoming: a peer that breaks the protocol is lost, though nobody takes its long message") {
    overtaken o(0);
    std::array<event, 8> events;
    bool moved = false;
    REQUIRE(o.in.poll(o.wire, events, o.ends, moved) == 1);
    o.in.report_protocol_error();
    CHECK(o.in.poll(o.wire, events, o.ends, moved) == 0);
    CHECK((o.in.ended() && o.in.fault() == errc::protocol_error));
    CHECK(o.memory->find(events[0].id)->at == tcp_arrival::place::void_);
}

// There is no memory for the message, so it stays on the socket. What is there is longer than the message, gaps left out.
TEST_CASE("tcp_incoming: the headers of gaps do not hide that a sender has died") {
    tcp_pipe wire;
    tcp_outgoing out(1 << 20);
    constexpr std::size_t gaps = 39, bytes = (gaps + 1) * part_bytes;
    const std::vector<std::byte> sent(bytes);
    REQUIRE(out.post(wire, {}, sent, 1) == posted::pending);
    while (!out.idle()) {
        out.new_turn();
        out.flush(wire, [](std::uint64_t) {});
    }
    REQUIRE(wire.bytes.size() == frame_header_bytes + bytes + 16 + gaps * 16);
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    const unique_fd mine(pair[0]);
    (void)unique_fd(pair[1]);
    wire.descriptor = mine.get();
    const auto memory = std::make_unique<tcp_memory>(tcp_chunk::capacity);
    for (const std::size_t missing : {std::size_t{0}, std::size_t{1}, gaps * 16}) {
        CAPTURE(missing);
        tcp_pipe cut = wire;
        cut.bytes.resize(cut.bytes.size() - missing);
        cut.closed = true;
        tcp_incoming in(*memory, 1, tcp_chunk::capacity, tcp_chunk::capacity);
        std::array<event, 4> events;
        due_events ends;
        bool moved = false;
        REQUIRE(in.poll(cut, events, ends, moved) == 1);
        for (int i = 0; i != 200; ++i) (void)in.poll(cut, events, ends, moved);
        CHECK(in.ended() == (missing != 0)); // all of it can still be taken
        in.drop(ends);
        memory->remove(events[0].id);
    }
}
