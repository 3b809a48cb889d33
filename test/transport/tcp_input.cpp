// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "transport/scripted_stream.hpp"
#include <bough/transport/tcp/input.hpp>

#include <cstring>
#include <memory>
#include <string>

using namespace bough::detail;
using bough_test::scripted_stream;

namespace {

// An input that may have so many chunks, and what it reads.
struct reader {
    explicit reader(std::uint64_t chunks) : budget{.most = chunks * tcp_chunk::capacity} {}
    void read(std::size_t most = 0) {
        now = {};
        input.begin_turn();
        input.read(stream, most, now);
    }
    std::string first_of_header() {
        const frame_header* const header = input.header();
        return header == nullptr ? "none" : std::string(1, static_cast<char>((*header)[0]));
    }

    std::unique_ptr<tcp_memory> memory = std::make_unique<tcp_memory>(1 << 20);
    tcp_budget budget;
    tcp_input input{*memory, budget};
    scripted_stream stream;
    tcp_reading now;
};

} // namespace

TEST_CASE("tcp_input: frames in a chunk") {
    reader r(1);
    r.stream.add(std::string(frame_header_bytes - 1, 'a'));
    r.read();
    CHECK((r.now.moved && !r.now.may_read));
    CHECK(r.first_of_header() == "none");
    r.read();
    CHECK_FALSE((r.now.moved || r.now.may_read));
    r.stream.add("a" + std::string(16, 'p') + std::string(frame_header_bytes, 'b'));
    r.read();
    REQUIRE(r.first_of_header() == "a");
    r.input.skip_header();
    CHECK(*r.input.front() == std::byte{'p'});
    r.input.skip(16);
    CHECK(r.first_of_header() == "b");
    r.input.skip_header();
    CHECK((r.input.size() == 0 && r.first_of_header() == "none"));
}

TEST_CASE("tcp_input: up to the end of a header, if a payload should stay on the socket") {
    reader r(1);
    r.stream.add(std::string(frame_header_bytes, 'a') + "payload");
    r.read(frame_header_bytes);
    CHECK((r.input.size() == frame_header_bytes && r.stream.coming() == 7));
    CHECK(r.now.may_read);
}

TEST_CASE("tcp_input: without memory for a chunk a header is read alone, and moves into one later") {
    reader r(0);
    r.stream.add(std::string(frame_header_bytes, 'a') + std::string(frame_header_bytes, 'b'));
    r.read();
    CHECK((r.input.chunk() == nullptr && r.stream.coming() == frame_header_bytes));
    CHECK(r.first_of_header() == "a");
    r.budget.most = tcp_chunk::capacity;
    CHECK(r.first_of_header() == "a");
    REQUIRE(r.input.chunk() != nullptr);
    r.input.skip_header();
    r.read();
    CHECK(r.first_of_header() == "b");
    r.input.drop();
    CHECK((r.budget.used == 0 && r.input.has_ended()));
}

TEST_CASE("tcp_input: room for a frame that does not end in the chunk in which it began") {
    reader r(1);
    r.stream.add(std::string(tcp_chunk::capacity - 10, 'x'));
    r.read();
    r.input.skip(tcp_chunk::capacity - 20);
    CHECK(r.input.make_room(20));
    CHECK(r.input.size() == 10);
    CHECK(r.input.make_room(21)); // the front of the chunk is free
    CHECK((r.input.size() == 10 && *r.input.front() == std::byte{'x'}));
    CHECK_FALSE(r.input.make_room(tcp_chunk::capacity + 1));
    ++r.input.chunk()->live; // an arrival lies there
    r.input.skip(5);
    CHECK_FALSE(r.input.make_room(tcp_chunk::capacity)); // a second chunk is over the cap
    --r.input.chunk()->live;
}

TEST_CASE("tcp_input: a header at the end of a chunk that must be given up is read on alone") {
    reader r(1);
    r.stream.add(std::string(tcp_chunk::capacity - 16, 'x') + std::string(frame_header_bytes, 'h') + "payload");
    r.read();
    r.input.skip(tcp_chunk::capacity - 16);
    tcp_chunk* const held = r.input.chunk();
    ++held->live; // so it stays, and a second one is over the cap
    REQUIRE(r.first_of_header() == "none");
    r.read();
    CHECK((r.input.chunk() == nullptr && r.input.size() == 0));
    CHECK((r.first_of_header() == "h" && r.stream.coming() == 7));
    r.input.skip_header();
    CHECK((r.input.size() == 0 && r.first_of_header() == "none"));
    --held->live;
    r.memory->close_chunk(held);
    CHECK(r.budget.used == 0);
}

TEST_CASE("tcp_input: the end") {
    reader r(1);
    r.stream.closed = true;
    CHECK_FALSE(r.input.has_ended());
    r.read();
    CHECK(r.input.has_ended());
}
