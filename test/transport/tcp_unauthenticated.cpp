// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/tcp/openssl_mac.hpp>
#include <bough/transport/tcp/unauthenticated.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

constexpr std::uint64_t ms = 1'000'000;

struct nobody_is_welcome {
    tcp_verdict judge(rank_t) { return tcp_verdict::taken; }
    void welcomed(rank_t) { FAIL("nobody is"); }
};
static_assert(AcceptorJudge<nobody_is_welcome>);

// Rank 0 of a group of two, and clients of its socket.
struct open_house {
    boost::asio::io_context io;
    tcp_identity<> mine{{.job = 5, .size = 2, .to = 0}, {}, {}, io};
    tcp_watch watch;
    tcp_authenticated<plain_channel::session> authenticated{watch};
    tcp_unauthenticated<openssl_mac> all;
    nobody_is_welcome host;
    unique_fd listener = open_socket(AF_INET);
    tcp_address at{boost::asio::ip::make_address("127.0.0.1"), 0};

    explicit open_house(const unauthenticated_limits& limits) : all(mine, limits) {
        REQUIRE(all.open());
        REQUIRE(::bind(listener.get(), at.data(), static_cast<socklen_t>(at.size())) == 0);
        REQUIRE(::listen(listener.get(), 8) == 0);
        at = local_address(listener.get());
    }
    unique_fd knock() {
        unique_fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(::connect(s.get(), at.data(), static_cast<socklen_t>(at.size())) == 0);
        pollfd asked{listener.get(), POLLIN, 0};
        REQUIRE(::poll(&asked, 1, 5000) == 1); // the kernel has it
        return s;
    }
    void step(std::uint64_t now_ns) {
        all.accept(listener.get(), false, now_ns);
        all.step(now_ns, host, authenticated);
    }
};

// What has come within a moment: a greeting, the end, or nothing.
enum class seen { nothing, greeting, end };
seen look(const unique_fd& s, int patience_ms = 0) {
    pollfd asked{s.get(), POLLIN, 0};
    if (::poll(&asked, 1, patience_ms) == 0) return seen::nothing;
    std::array<std::byte, greeting_bytes> heard{};
    return ::recv(s.get(), heard.data(), heard.size(), 0) == greeting_bytes ? seen::greeting : seen::end;
}

} // namespace

TEST_CASE("tcp_unauthenticated: a new connection replaces the oldest, once that one has had 20 ms") {
    open_house zero({.strangers = 2});
    const unique_fd first = zero.knock();
    zero.step(100 * ms);
    const unique_fd second = zero.knock();
    zero.step(110 * ms);
    CHECK((look(first, 5000) == seen::greeting && look(second, 5000) == seen::greeting));
    const unique_fd third = zero.knock();
    zero.step(119 * ms);
    CHECK((look(third) == seen::nothing && zero.all.turned_away() == 0)); // it waits in the kernel
    zero.step(120 * ms);
    CHECK(look(third, 5000) == seen::greeting);
    CHECK((look(first, 5000) == seen::end && look(second) == seen::nothing));
    CHECK(zero.all.turned_away() == 1);
}

TEST_CASE("tcp_unauthenticated: the time to prove oneself ends, but a proof that has come is heard") {
    open_house zero({.stranger_timeout_ns = 50 * ms});
    const unique_fd silent = zero.knock();
    zero.step(100 * ms);
    REQUIRE(look(silent, 5000) == seen::greeting);
    zero.step(149 * ms);
    CHECK((look(silent) == seen::nothing && !zero.all.empty()));
    zero.step(150 * ms);
    CHECK((look(silent, 5000) == seen::end && zero.all.empty() && zero.all.turned_away() == 1));

    const unique_fd rank = zero.knock();
    zero.step(200 * ms);
    greeting_message greeting{};
    REQUIRE(::recv(rank.get(), greeting.data(), greeting.size(), MSG_WAITALL) == greeting_bytes);
    nonce accepting{};
    proof_message proof{};
    REQUIRE(read_greeting(greeting, accepting));
    REQUIRE(make_proof<openssl_mac>(zero.mine.key, {.job = 5, .size = 2, .from = 1, .to = 0}, accepting, {}, proof));
    REQUIRE(::send(rank.get(), proof.data(), proof.size(), 0) == proof_bytes);
    for (int i = 0; i != 1000 && !zero.all.empty(); ++i) { // loopback may take a moment
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        zero.step(249 * ms);
    }
    CHECK((zero.all.empty() && zero.all.turned_away() == 1 && !zero.authenticated.has(1)));
    answer_message answer{};
    CHECK(::recv(rank.get(), answer.data(), answer.size(), MSG_WAITALL) == answer_bytes);
}

TEST_CASE("tcp_unauthenticated: other bytes than bough's are the end at once") {
    open_house zero({});
    const unique_fd browser = zero.knock();
    REQUIRE(::send(browser.get(), "GET / HTTP/1.1\r\n", 16, 0) == 16);
    for (int i = 0; i != 1000 && zero.all.turned_away() == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        zero.step(100 * ms);
    }
    CHECK((zero.all.empty() && zero.all.turned_away() == 1));
}

TEST_CASE("tcp_unauthenticated: what one connection may take is fixed") {
    STATIC_REQUIRE(sizeof(unauthenticated_connection<plain_channel::session>) <= 128);
}
