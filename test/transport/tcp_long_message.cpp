// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "transport/scripted_stream.hpp"
#include <bough/transport/tcp/long_message.hpp>

#include <array>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace bough;
using namespace bough::detail;
using bough_test::scripted_stream;

namespace {

constexpr std::size_t payload = 100;
const std::size_t tail_bytes = frame_tail_bytes(frame_kind::long_message, payload);

// A long message of 100 bytes that has been announced. `cap`: bytes that may be kept.
struct announced {
    explicit announced(std::uint64_t cap = 1 << 20) : budget{.most = cap} {
        tcp_arrival a;
        a.at = tcp_arrival::place::stream;
        a.bytes = payload;
        handle = memory->add(std::move(a));
        message.begin(handle, payload);
    }
    void comes(std::size_t bytes) { stream.add(std::string(bytes, 'm')); }
    void tail_comes(std::byte verdict = whole_message) {
        stream.add(std::string(tail_bytes - 1, '\0') + static_cast<char>(verdict));
    }
    bool read_on() {
        tcp_reading now;
        input.begin_turn();
        return message.read_on(stream, now);
    }
    bool is_impatient_for(int polls) {
        for (int i = 0; i != polls; ++i)
            if (message.give_up_waiting(stream)) return false;
        return true;
    }

    std::unique_ptr<tcp_memory> memory = std::make_unique<tcp_memory>(1 << 20);
    tcp_budget budget;
    tcp_input input{*memory, budget};
    tcp_long_message message{*memory, budget, input};
    scripted_stream stream;
    std::uint64_t handle = 0;
    due_events ends;
};

} // namespace

TEST_CASE("tcp_long_message: taken at once, or as it comes") {
    for (const bool has_come : {true, false}) {
        announced a;
        std::array<std::byte, payload> into{};
        CHECK((a.message.is_announced() && a.message.is_on_stream(a.handle) && !a.message.is_on_stream(a.handle + 1)));
        a.comes(has_come ? payload : 10);
        if (has_come) a.tail_comes();
        REQUIRE(a.message.take(a.stream, into, 7) == has_come);
        if (!has_come) {
            CHECK_FALSE(a.message.is_on_stream(a.handle)); // it is this take's now
            a.comes(payload - 10);
            CHECK_FALSE(a.read_on());
            a.tail_comes();
            REQUIRE(a.read_on());
            a.message.finish(3, a.ends);
            const event e = a.ends.take();
            CHECK((e.id == 7 && e.code == errc::ok && e.peer == 3));
        }
        CHECK((a.message.empty() && a.message.outcome() == errc::ok));
        for (const std::byte b : into) REQUIRE(b == std::byte{'m'});
        CHECK(a.memory->arrivals() == 0);
    }
}

TEST_CASE("tcp_long_message: what was read before lies in the chunk") {
    announced a;
    std::array<std::byte, payload> into{};
    a.comes(payload);
    a.tail_comes();
    tcp_reading now;
    a.input.begin_turn();
    a.input.read(a.stream, 0, now);
    CHECK(a.message.take(a.stream, into, 7));
    CHECK((into.back() == std::byte{'m'} && a.input.size() == 0 && a.message.outcome() == errc::ok));
}

TEST_CASE("tcp_long_message: nobody takes it for some polls, and it is read into memory of its own") {
    announced a;
    CHECK(a.is_impatient_for(15));
    CHECK(a.message.is_impatient());
    CHECK(a.message.give_up_waiting(a.stream));
    CHECK((!a.message.is_announced() && a.budget.used == payload));
    a.comes(payload);
    a.tail_comes();
    REQUIRE(a.read_on());
    a.message.finish(3, a.ends);
    CHECK((a.message.empty() && a.ends.empty()));
    CHECK((a.memory->find(a.handle)->at == tcp_arrival::place::own &&
           a.memory->find(a.handle)->data[payload - 1] == std::byte{'m'}));
    SECTION("and taken then, while it comes") {
        announced b;
        std::array<std::byte, payload> into{};
        (void)b.is_impatient_for(16);
        b.comes(60);
        CHECK_FALSE(b.read_on());
        CHECK_FALSE(b.message.take(b.stream, into, 9));
        b.comes(40);
        b.tail_comes();
        CHECK(b.read_on());
        CHECK((into.front() == std::byte{'m'} && into.back() == std::byte{'m'} && b.message.outcome() == errc::ok));
    }
}

// (Cut to 32 bits, such a length would be a short one, and the rest would be written behind the memory.)
TEST_CASE("tcp_long_message: one that is longer than any memory waits, whatever the cap") {
    constexpr std::uint64_t no_cap = ~std::uint64_t{0};
    const auto memory = std::make_unique<tcp_memory>(no_cap);
    const tcp_budget budget{.most = no_cap};
    CHECK(memory->may_own(budget, payload));
    CHECK_FALSE(memory->may_own(budget, (std::uint64_t{1} << 63) + payload));
    CHECK(memory->may_own(budget, (std::uint64_t{1} << 32) + payload) == (sizeof(std::size_t) > 4));
}

TEST_CASE("tcp_long_message: where the cap is reached it waits, but not for a sender that is gone") {
    announced a(0);
    CHECK(a.is_impatient_for(200));
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    a.stream.descriptor = ends[0];
    CHECK(a.is_impatient_for(64)); // it is there
    ::close(ends[1]);
    CHECK_FALSE(a.is_impatient_for(64));
    CHECK((a.message.empty() && a.input.has_ended()));
    CHECK(a.memory->find(a.handle)->at == tcp_arrival::place::void_);
    ::close(ends[0]);
}

TEST_CASE("tcp_long_message: how it can end badly") {
    announced a;
    std::array<std::byte, payload> into{};
    SECTION("its sender takes it back") {
        a.comes(payload);
        a.tail_comes(void_message);
        CHECK(a.message.take(a.stream, into, 7));
        CHECK(a.message.outcome() == errc::peer_aborted);
        CHECK(a.memory->find(a.handle)->at == tcp_arrival::place::void_);
    }
    SECTION("its tail is nonsense") {
        a.comes(payload);
        a.tail_comes(std::byte{1});
        CHECK(a.message.take(a.stream, into, 7));
        CHECK(a.message.outcome() == errc::protocol_error);
    }
    SECTION("the connection ends") {
        a.comes(payload - 1);
        a.stream.closed = true;
        CHECK_FALSE(a.message.take(a.stream, into, 7));
        REQUIRE(a.read_on());
        a.message.finish(3, a.ends);
        CHECK(a.ends.take().code == errc::peer_dead);
    }
    SECTION("it is released, and the rest of it is read past") {
        a.message.release();
        a.comes(payload);
        a.tail_comes();
        CHECK(a.read_on());
        a.message.finish(3, a.ends);
        CHECK((a.message.empty() && a.ends.empty() && a.memory->arrivals() == 0));
    }
    SECTION("its take is cancelled: nothing is written any more") {
        CHECK_FALSE(a.message.take(a.stream, into, 7));
        CHECK_FALSE(a.message.cancel(8));
        CHECK(a.message.cancel(7));
        a.comes(payload);
        a.tail_comes();
        CHECK(a.read_on());
        CHECK(into[0] == std::byte{0});
        a.message.finish(3, a.ends);
        CHECK(a.ends.empty());
    }
}
