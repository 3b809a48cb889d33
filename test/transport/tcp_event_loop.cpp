// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/event_loop.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/socket.h>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

// What the loop needs of a link, over one end of a socket pair.
struct plain_link {
    struct incoming {
        bool waits = false, more = false;
        bool blocked() const noexcept { return waits; }
        bool has_more() const noexcept { return more; }
    };
    plain_link(boost::asio::io_context& io, wake_rooms& r) : rooms(r), stream(make(io, other)) {}
    bool has_to_write() const noexcept { return to_write; }
    void say(std::size_t bytes) {
        const std::vector<std::byte> zeros(bytes);
        REQUIRE(::send(other.get(), zeros.data(), bytes, 0) == static_cast<ssize_t>(bytes));
    }
    // Writes until the socket is full; the other end reads nothing.
    void fill() {
        const std::vector<std::byte> zeros(1 << 16);
        for (std::size_t n = 0; stream.write(std::span(zeros), n) == io_result::some;) {
        }
    }
    void drain() {
        std::vector<std::byte> some(1 << 20);
        while (::recv(other.get(), some.data(), some.size(), MSG_DONTWAIT) > 0) {
        }
    }

    wake_rooms& rooms;
    unique_fd other;
    tcp_stream stream;
    incoming in;
    bool to_write = false;
    bool open = true, waiting = false;
    tcp_heat heat = tcp_heat::hot;
    std::uint32_t misses = 17;

private:
    static tcp_stream make(boost::asio::io_context& io, unique_fd& other) {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        other = unique_fd(ends[1]);
        tcp_stream::socket_type socket(io);
        boost::system::error_code error;
        socket.assign({AF_UNIX, 0}, ends[0], error);
        socket.non_blocking(true, error);
        return tcp_stream(std::move(socket));
    }
};

struct loop_of_links {
    tcp_event_loop<plain_link> loop;
    std::vector<std::unique_ptr<plain_link>> links;
    explicit loop_of_links(rank_t n) : loop(n) {
        for (rank_t r = 0; r != n; ++r) {
            links.push_back(std::make_unique<plain_link>(loop.io(), loop.new_rooms()));
            loop.add(*links.back());
        }
    }
    plain_link& operator[](std::size_t i) { return *links[i]; }
};

} // namespace

TEST_CASE("tcp_event_loop: a cold link becomes hot when something has come for it") {
    loop_of_links l(3);
    CHECK_FALSE(l.loop.is_watching());
    l.loop.cool(0);
    CHECK(l.loop.is_watching());
    CHECK(l.loop.hot() == std::vector{&l[2], &l[1]});
    l.loop.turn(0);
    CHECK(l.loop.hot().size() == 2);
    l[0].say(1);
    l.loop.turn(0);
    REQUIRE(l.loop.hot().size() == 3);
    CHECK(l.loop.hot()[2] == &l[0]);
    CHECK(l[0].misses == 0); // it is read for a while before it becomes cold again
    CHECK_FALSE(l.loop.is_watching());
    CHECK(l.loop.turns() == 2);
}

TEST_CASE("tcp_event_loop: a link that is closed is left out and not watched") {
    loop_of_links l(2);
    l.loop.cool(1);
    l.loop.forget(l[1]); // it was cold
    CHECK_FALSE(l.loop.is_watching());
    l[0].open = false;
    l.loop.forget(l[0]);
    l.loop.cool(0);
    CHECK(l.loop.hot().empty());
    CHECK_FALSE(l.loop.is_watching());
}

TEST_CASE("tcp_event_loop: before a sleep all links become cold, except those that need a poll soon") {
    loop_of_links l(3);
    l[1].in.waits = true;
    CHECK_FALSE(l.loop.cool_all());
    CHECK(l.loop.hot() == std::vector{&l[1]});
    l[1].in.waits = false;
    CHECK(l.loop.cool_all());
    CHECK(l.loop.hot().empty());
    l[2].say(1);
    l.loop.turn(5'000'000'000); // wakes up at once
    CHECK(l.loop.hot() == std::vector{&l[2]});
}

TEST_CASE("tcp_event_loop: a cold link is recalled, and read before its socket says anything") {
    loop_of_links l(2);
    l.loop.recall(l[0]); // it is hot
    CHECK(l.loop.hot() == std::vector{&l[0], &l[1]});
    CHECK(l.loop.cool_all());
    l.loop.recall(l[0]);
    l.loop.recall(l[0]);
    CHECK(l.loop.hot() == std::vector{&l[0]});
    CHECK(l[0].misses == 0);
    SECTION("the event loop listens to it all the time") {
        l[0].say(1);
        l.loop.turn(0);
        CHECK(l.loop.hot() == std::vector{&l[0]}); // once
        CHECK(l.loop.cool_all());
    }
    SECTION("and goes on when it is cold again") {
        l[0].in.waits = true;
        CHECK_FALSE(l.loop.cool_all()); // not yet
        CHECK(l.loop.hot() == std::vector{&l[0]});
        l[0].in.waits = false;
        l.loop.cool(0);
        CHECK(l.loop.hot().empty());
        l[0].say(1);
        l.loop.turn(0);
        CHECK(l.loop.hot() == std::vector{&l[0]});
    }
    SECTION("until it is closed") {
        l.loop.forget(l[0]);
        l[0].open = false;
        l[0].say(1);
        l.loop.turn(0); // the handler is still there, and too late
        l.loop.cool(0);
        CHECK(l.loop.hot().empty());
        l.loop.forget(l[1]);
        CHECK_FALSE(l.loop.is_watching());
    }
}

TEST_CASE("tcp_event_loop: each link is the first to be read in its turn") {
    loop_of_links l(3);
    l.loop.rotate();
    CHECK(l.loop.hot() == std::vector{&l[1], &l[2], &l[0]});
    loop_of_links none(0);
    none.loop.rotate();
    CHECK(none.loop.hot().empty());
}

TEST_CASE("tcp_event_loop: wakes up when there is room for a link that has something to write") {
    loop_of_links l(1);
    l.loop.wait_for_room(l[0]);
    CHECK_FALSE(l[0].waiting); // it has nothing to write
    l[0].fill();
    l[0].to_write = true;
    l.loop.wait_for_room(l[0]);
    CHECK(l[0].waiting);
    l.loop.turn(0);
    CHECK(l[0].waiting);
    l[0].drain();
    l.loop.turn(0);
    CHECK_FALSE(l[0].waiting);
}

TEST_CASE("tcp_event_loop: rings once for what has come to the acceptor") {
    loop_of_links l(0);
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const unique_fd acceptor(ends[0]), caller(ends[1]);
    l.loop.listen_to_acceptor(acceptor.get());
    CHECK(l.loop.is_watching());
    l.loop.turn(0);
    CHECK_FALSE(l.loop.has_rung());
    REQUIRE(::send(caller.get(), "x", 1, 0) == 1);
    l.loop.turn(0);
    CHECK(l.loop.has_rung());
    l.loop.stop_ringing();
    l.loop.turn(0);
    CHECK_FALSE(l.loop.has_rung()); // it is not listened to any more
    CHECK_FALSE(l.loop.is_watching());
    l.loop.listen_to_acceptor(acceptor.get());
    l.loop.turn(0);
    CHECK(l.loop.has_rung()); // the byte is still there
}

TEST_CASE("tcp_event_loop: a hot link may have more to read than its socket says") {
    loop_of_links l(2);
    CHECK_FALSE(l.loop.has_more());
    l.links[1]->in.more = true;
    CHECK(l.loop.has_more());
}
