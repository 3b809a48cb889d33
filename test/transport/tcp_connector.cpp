// SPDX-License-Identifier: BSL-1.0
// A connector and an acceptor, which meet over loopback or a Unix socket; one thread drives both, at times of its own.
#include "support/catch.hpp"
#include <bough/core/formats.hpp>
#include <bough/transport/tcp/acceptor.hpp>
#include <bough/transport/tcp/connector.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/openssl_mac.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

using session = plain_channel::session;
using connector = tcp_connector<openssl_mac>;
using acceptor = tcp_acceptor<openssl_mac>;

constexpr std::uint64_t ms = 1'000'000;

tcp_address listen_at_loopback(unique_fd& listener, tcp_address at = {boost::asio::ip::make_address("127.0.0.1"), 0}) {
    listener = open_socket(AF_INET);
    set_socket_option(listener.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    REQUIRE(::bind(listener.get(), at.data(), static_cast<socklen_t>(at.size())) == 0);
    REQUIRE(::listen(listener.get(), 8) == 0);
    return local_address(listener.get());
}
// An address at which nobody listens now.
tcp_address deserted() {
    unique_fd listener;
    return listen_at_loopback(listener);
}

// A rank of a group of three: what it is, and what the two classes tell it.
struct rank_of_three {
    boost::asio::io_context io;
    tcp_identity<> mine;
    connector out;
    acceptor in;
    std::uint64_t now_ns = 1000 * ms;

    tcp_verdict verdict = tcp_verdict::welcome;
    bool gives_up = false;
    int judged = 0;
    std::vector<rank_t> welcomes, refused;
    std::vector<std::pair<rank_t, std::uint32_t>> attached; // rank and window
    std::vector<unique_fd> sockets;

    explicit rank_of_three(rank_t rank, std::uint8_t key = 1, const unauthenticated_limits& limits = {})
        : mine{{.job = 5, .size = 3, .to = rank, .window_kib = 1024 + rank}, {}, {}, io}, out(mine, 100 * ms, 0),
          in(mine, limits) {
        mine.key.bytes()[0] = static_cast<std::byte>(key);
    }
    tcp_verdict judge(rank_t) {
        ++judged;
        return verdict;
    }
    void welcomed(rank_t from) { welcomes.push_back(from); }
    void attach(rank_t peer, unique_fd socket, session, std::uint32_t window_kib) {
        attached.emplace_back(peer, window_kib);
        sockets.push_back(std::move(socket));
    }
    bool unreachable(rank_t peer) {
        refused.push_back(peer);
        return gives_up;
    }
    void step() {
        in.step(now_ns, *this);
        out.step(now_ns, *this);
        now_ns += ms / 10;
    }
};
static_assert(ConnectorHost<rank_of_three, session> && AcceptorHost<rank_of_three, session>);

struct never_attaches {
    tcp_verdict judge(rank_t);
    void welcomed(rank_t);
    bool unreachable(rank_t);
};
static_assert(!ConnectorHost<never_attaches, session> && !AcceptorHost<never_attaches, session>);

// Lets both go on until done(), which is asked once after each step. False: that never came.
template <class F>
bool until(rank_of_three& a, rank_of_three& b, const F& done) {
    for (int i = 0; i != 2000; ++i) {
        a.step();
        b.step();
        if (done()) return true;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return false;
}

} // namespace

TEST_CASE("tcp_connector, tcp_acceptor: two ranks that meet tell each other their windows") {
    rank_of_three zero(0), two(2);
    unique_fd listener;
    const tcp_address at = listen_at_loopback(listener);
    REQUIRE_FALSE(zero.in.open(std::move(listener), {}));
    CHECK_FALSE(two.out.is_busy());
    two.out.connect({.rank = 0, .at = at});
    two.out.connect({.rank = 0, .at = at}); // once is enough
    CHECK(two.out.is_busy());
    CHECK_FALSE(two.out.is_trying(0));
    REQUIRE(until(zero, two, [&] { return !zero.attached.empty() && !two.attached.empty(); }));
    CHECK(zero.attached == std::vector{std::pair(rank_t{2}, std::uint32_t{1026})});
    CHECK(two.attached == std::vector{std::pair(rank_t{0}, std::uint32_t{1024})});
    CHECK(zero.welcomes == std::vector{rank_t{2}});
    CHECK((!two.out.is_busy() && !zero.in.is_busy()));
    CHECK(::send(two.sockets[0].get(), "hello", 5, 0) == 5);
    std::array<std::byte, 5> heard{};
    int got = 0;
    CHECK(until(zero, two, [&] { return (got = receive_now(zero.sockets[0].get(), heard)) != 0; }));
    CHECK(got == 5);
    CHECK((zero.in.turned_away() == 0 && two.refused.empty()));
}

TEST_CASE("tcp_connector: tries again at longer and longer intervals, as long as its host wants it") {
    rank_of_three one(1);
    one.out.connect({.rank = 0, .at = deserted()});
    const std::uint64_t begin = one.now_ns;
    while (one.refused.size() != 8) one.step();
    CHECK(one.out.fault_of(0) == errc::peer_dead);
    CHECK(one.out.fault_of(2) == errc::ok);
    CHECK(one.now_ns - begin > 113 * ms); // 1, 2, 4, ..., 32, 50 ms between the attempts
    CHECK(one.now_ns - begin < 115 * ms);
    one.gives_up = true;
    while (one.out.is_busy()) one.step();
    CHECK(one.refused == std::vector<rank_t>(9, 0));
}

TEST_CASE("tcp_connector: a rank that comes late is found") {
    rank_of_three zero(0), one(1);
    const tcp_address at = deserted();
    one.out.connect({.rank = 0, .at = at});
    one.step();
    CHECK(one.refused.size() == 1);
    unique_fd listener;
    listen_at_loopback(listener, at);
    REQUIRE_FALSE(zero.in.open(std::move(listener), {}));
    REQUIRE(until(zero, one, [&] { return !one.attached.empty(); }));
    one.out.give_up(0);
    CHECK_FALSE(one.out.is_busy());
}

TEST_CASE("tcp_connector: a rank that has another connection is asked again") {
    rank_of_three zero(0), one(1);
    unique_fd listener;
    const tcp_address at = listen_at_loopback(listener);
    REQUIRE_FALSE(zero.in.open(std::move(listener), {}));
    zero.verdict = tcp_verdict::taken;
    one.gives_up = true; // nobody asks: the rank is there
    one.out.connect({.rank = 0, .at = at});
    CHECK_FALSE(until(zero, one, [&] { return !one.attached.empty() || !one.out.is_busy(); }));
    CHECK((zero.judged > 1 && one.refused.empty()));
    CHECK((zero.welcomes.empty() && zero.in.turned_away() == 0));
    one.out.give_up(0); // as its host does, once the other connection is there
    CHECK_FALSE(one.out.is_busy());
}

TEST_CASE("tcp_connector: a rank without the key is neither believed nor let in") {
    rank_of_three zero(0, 1), one(1, 2);
    unique_fd listener;
    const tcp_address at = listen_at_loopback(listener);
    REQUIRE_FALSE(zero.in.open(std::move(listener), {}));
    one.out.connect({.rank = 0, .at = at});
    REQUIRE(until(zero, one, [&] { return !one.refused.empty(); }));
    CHECK(one.out.fault_of(0) == errc::protocol_error);
    CHECK((zero.in.turned_away() != 0 && zero.attached.empty() && zero.welcomes.empty()));
}

TEST_CASE("tcp_connector: whoever says that its build may not talk to this one is named, also when it is gone") {
    rank_of_three one(1);
    unique_fd listener;
    const tcp_address at = listen_at_loopback(listener);
    one.out.connect({.rank = 2, .at = deserted()}); // says nothing
    one.out.connect({.rank = 0, .at = at});
    greeting_message greeting = make_greeting({});
    greeting[5] = static_cast<std::byte>(formats::tcp + 1);
    one.step();
    CHECK_FALSE(one.out.other_build());
    const unique_fd accepted(::accept(listener.get(), nullptr, nullptr));
    REQUIRE(accepted);
    REQUIRE(::send(accepted.get(), greeting.data(), greeting.size(), 0) == greeting_bytes);
    const auto refusals = [&] { return std::count(one.refused.begin(), one.refused.end(), rank_t{0}); };
    REQUIRE(until(one, one, [&] { return refusals() == 1; }));
    CHECK(one.out.fault_of(0) == errc::protocol_error);
    CHECK(one.out.other_build().mismatch == mismatch::version);
    CHECK(one.out.other_build().peer == 0);
    listener.reset();
    REQUIRE(until(one, one, [&] { return refusals() == 3; }));
    CHECK(one.out.other_build().peer == 0);
    one.out.give_up(0);
    CHECK_FALSE(one.out.other_build());
}

TEST_CASE("tcp_acceptor: a rank that ends its connection instead of sealing it may connect again") {
    rank_of_three zero(0), one(1);
    unique_fd listener;
    const tcp_address at = listen_at_loopback(listener);
    REQUIRE_FALSE(zero.in.open(std::move(listener), {}));
    one.out.connect({.rank = 0, .at = at});
    REQUIRE(until(one, zero, [&] { return zero.in.has_welcomed(1); }));
    CHECK(zero.in.is_busy());
    one.out.give_up(0); // it has not read the answer
    CHECK(until(zero, zero, [&] { return !zero.in.has_welcomed(1); }));
    CHECK((zero.attached.empty() && one.attached.empty() && !zero.in.is_busy()));
    one.out.connect({.rank = 0, .at = at});
    CHECK(until(zero, one, [&] { return !zero.attached.empty() && !one.attached.empty(); }));
}

TEST_CASE("tcp_acceptor: a rank that connects anew has given up the connection before") {
    rank_of_three zero(0), one(1), again(1);
    unique_fd listener;
    const tcp_address at = listen_at_loopback(listener);
    REQUIRE_FALSE(zero.in.open(std::move(listener), {}));
    one.out.connect({.rank = 0, .at = at});
    REQUIRE(until(one, zero, [&] { return zero.in.has_welcomed(1); }));
    again.out.connect({.rank = 0, .at = at});
    REQUIRE(until(zero, again, [&] { return !zero.attached.empty(); }));
    CHECK_FALSE(zero.in.has_welcomed(1));
    CHECK(zero.welcomes == std::vector{rank_t{1}, rank_t{1}});
    for (int i = 0; i != 100; ++i) { // the seal of the first goes nowhere
        one.step();
        zero.step();
    }
    CHECK(zero.attached.size() == 1);
}

TEST_CASE("tcp_connector: a silent process at the near name costs its time, and then TCP is used") {
    if constexpr (has_near_sockets) {
        rank_of_three zero(0), one(1);
        unique_fd listener;
        const tcp_address at = listen_at_loopback(listener);
        REQUIRE_FALSE(zero.in.open(std::move(listener), {}));
        near_name name{};
        REQUIRE(openssl_mac::random(name));
        const unique_fd silent = listen_nearby(name, 0);
        REQUIRE(silent);
        one.out.connect({.rank = 0, .at = at, .name = name});
        const std::uint64_t begin = one.now_ns;
        REQUIRE(until(zero, one, [&] { return !one.attached.empty(); }));
        CHECK(one.now_ns - begin >= 100 * ms);
        CHECK(family_of(one.sockets[0].get()) == AF_INET);
        CHECK(one.refused.empty()); // this said nothing about the rank
    }
}

TEST_CASE("near_deadline: each stage has its own time, from the first time that it is reached") {
    near_deadline d;
    CHECK_FALSE(d.is_over(~std::uint64_t{0})); // no process listens there
    d.reach(attempt_stage::reached, 100, 10);
    CHECK((!d.is_over(109) && d.is_over(110)));
    d.reach(attempt_stage::reached, 108, 10); // by another attempt
    CHECK(d.is_over(110));
    d.reach(attempt_stage::greeted, 109, 10);
    d.reach(attempt_stage::opened, 115, 10);
    CHECK((!d.is_over(118) && d.is_over(119)));
}

TEST_CASE("connect_failures: an impostor is remembered; a refusal counts from the third time on") {
    connect_failures f;
    CHECK((f.may_try(0) && f.fault() == errc::ok));
    f.note(errc::peer_dead);
    f.note(errc::protocol_error);
    f.note(errc::peer_dead);
    CHECK(f.fault() == errc::protocol_error);
    f.note_refusal(50 * ms);
    f.note_refusal(60 * ms);
    CHECK_FALSE(f.is_refused(1000 * ms));
    f.note_refusal(70 * ms);
    CHECK_FALSE(f.is_refused(149 * ms));
    CHECK(f.is_refused(150 * ms));
}
