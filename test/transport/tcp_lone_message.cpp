// SPDX-License-Identifier: BSL-1.0
// Short messages for which no chunk has room: they keep nothing back that lies behind them.
#include "support/catch.hpp"
#include "transport/scripted_stream.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/transport/tcp/lone_message.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// A message of 100 bytes, for which the caps allow nothing.
struct begun {
    begun() {
        tcp_arrival a;
        a.peer = 3;
        a.bytes = 100;
        a.credit = &credit;
        message.begin({.peer = 3, .bytes = 100, .envelope = {.operation = 5}}, std::move(a));
    }
    bool read_on() {
        tcp_reading now;
        input.begin_turn();
        return message.read_on(stream, now);
    }

    std::unique_ptr<tcp_memory> memory = std::make_unique<tcp_memory>(0);
    tcp_budget budget;
    tcp_input input{*memory, budget};
    tcp_lone_message message{*memory, budget, input};
    bough_test::scripted_stream stream;
    std::uint64_t credit = 0;
    event e;
};

} // namespace

TEST_CASE("tcp_lone_message: announced when it is whole, and what is behind it stays") {
    begun b;
    CHECK((!b.message.empty() && b.message.bytes() == 112 && b.budget.used == 100 && b.memory->used() == 100));
    b.stream.add(std::string(60, 'm'));
    CHECK_FALSE(b.read_on());
    b.stream.add(std::string(40, 'm') + std::string(12, '\0') + "next");
    REQUIRE(b.read_on());
    CHECK(b.stream.coming() == 4);
    REQUIRE(b.message.finish(b.e));
    CHECK((b.message.empty() && b.e.what == event::kind::arrived && b.e.peer == 3 && b.e.envelope.operation == 5));
    REQUIRE((b.e.bytes == 100 && b.e.data != nullptr));
    CHECK(std::all_of(b.e.data, b.e.data + 100, [](std::byte x) { return x == std::byte{'m'}; }));
    b.memory->remove(b.e.id);
    CHECK((b.budget.used == 0 && b.memory->used() == 0 && b.credit == short_frame_bytes(100)));
}

TEST_CASE("tcp_lone_message: it is forgotten if its rest does not come") {
    begun b;
    b.stream.add(std::string(111, 'm'));
    b.stream.closed = true;
    while (!b.read_on()) continue;
    CHECK_FALSE(b.message.finish(b.e));
    CHECK((b.message.empty() && b.memory->used() == 0 && b.memory->arrivals() == 0));
}

// With the default options the window has room for 63 such messages, and 16 chunks for 48.
TEST_CASE("tcp: a long message ends, whatever short ones have overtaken it and are kept") {
    auto ends = test_tcp::ends_of(2);
    const std::vector<std::byte> sent(std::size_t{16} << 20, std::byte{0xaa}), small(most_short_bytes, std::byte{7});
    std::vector<std::byte> into(sent.size());
    std::array<event, 16> events;
    std::uint32_t shorts = 0, came = 0;
    std::uint64_t most = 0;
    bool is_taken = false;
    REQUIRE(ends[0].post_send(1, {}, sent, 1) == posted::pending);
    const auto begin = test_tcp::clock_type::now();
    while ((!is_taken || came != shorts) && test_tcp::ms_since(begin) < 5'000) {
        while (ends[0].post_send(1, {.operation = shorts + 1}, small, 2) == posted::complete) ++shorts;
        (void)ends[0].poll(events);
        const std::size_t found = ends[1].poll(events);
        for (const event& e : std::span(events).first(found)) {
            if (e.what == event::kind::complete) {
                is_taken = true;
            } else if (e.bytes == sent.size()) {
                REQUIRE(ends[1].take(e.id, into, 9) == posted::pending);
            } else {
                CHECK((e.envelope.operation == ++came && e.data != nullptr && e.data[0] == std::byte{7}));
            }
        }
        most = std::max(most, ends[1].unexpected_bytes());
    }
    CHECK((is_taken && into == sent));
    CHECK((shorts == 63 && came == 63));
    const tcp_options defaults;
    CHECK(most <= 2 * defaults.unexpected_bytes_per_peer);
    CHECK(most <= defaults.unexpected_bytes_per_peer * 5 / 4 + tcp_chunk::capacity);
}

// Each holds one of the few chunks with a message of one byte, so all of the window comes beside them.
TEST_CASE("tcp: what is kept of short messages stays under the caps and the windows together") {
    tcp_options options;
    options.unexpected_bytes_per_peer = options.unexpected_bytes = 256 << 10;
    auto ends = test_tcp::ends_of(3, options);
    std::array<event, 64> events;
    std::array<std::uint64_t, 3> sent{}, came{};
    std::vector<event> kept;
    const std::vector<std::byte> bytes(most_short_bytes);
    std::uint64_t most = 0;
    for (int turn = 0; turn != 3'000; ++turn) {
        for (rank_t r = 1; r != 3; ++r) {
            // One in four is short, and kept. The others go until the caps are used up.
            const std::span<const std::byte> one(bytes.data(), sent[r] % 4 == 0 ? 1 : most_short_bytes);
            sent[r] += ends[r].post_send(0, {}, one, 1) == posted::complete;
            (void)ends[r].poll(events);
        }
        const std::size_t found = ends[0].poll(events);
        for (const event& e : std::span(events).first(found)) {
            REQUIRE((e.what == event::kind::arrived && e.data != nullptr));
            ++came[e.peer];
            if (e.bytes == 1 || turn > 1'000)
                kept.push_back(e);
            else
                ends[0].release(e.id);
        }
        most = std::max(most, ends[0].unexpected_bytes());
    }
    CHECK((sent[1] > 100 && came == sent));
    CHECK(most > options.unexpected_bytes); // some had memory of their own
    CHECK(most <= options.unexpected_bytes + 2 * options.unexpected_bytes_per_peer);
    for (const event& e : kept) ends[0].release(e.id);
    CHECK(ends[0].unexpected_bytes() <= 2 * tcp_chunk::capacity);
}
