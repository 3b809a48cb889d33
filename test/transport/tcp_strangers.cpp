// SPDX-License-Identifier: BSL-1.0
// Whoever is not of the job does not get in, and does not keep those who are from their places.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/barrier.hpp>

#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <netinet/in.h>
#include <string>
#include <thread>
#include <vector>

using namespace bough;
using namespace bough::detail;
using namespace test_tcp;

namespace {

// A socket of nobody's, which blocks for at most 2 s.
unique_fd knock(std::uint16_t port) {
    unique_fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{2, 0};
    ::setsockopt(s.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(s.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const tcp_address at{boost::asio::ip::make_address("127.0.0.1"), port};
    for (int i = 0; i != 2000; ++i) {
        if (::connect(s.get(), at.data(), static_cast<socklen_t>(at.size())) == 0) return s;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
}
bool hear(const unique_fd& s, std::span<std::byte> into) {
    return ::recv(s.get(), into.data(), into.size(), MSG_WAITALL) == static_cast<ssize_t>(into.size());
}
// The other side ends the connection, without having said anything more.
bool is_shown_out(const unique_fd& s) {
    std::byte more{};
    const ssize_t n = ::recv(s.get(), &more, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
}

// Rank 0 listens; `intrude(port)` runs; then rank 1 comes and the two must find each other all the same. Returns how many
// strangers rank 0 turned away.
std::uint64_t group_in_spite_of(const std::function<void(std::uint16_t, const std::atomic<bool>&)>& intrude,
                                bool together = false, const tcp_options& options = {}) {
    tcp_hosts hosts = hosts_of(2);
    std::array<status, 2> results;
    std::uint64_t turned_away = 0;
    std::atomic<bool> over{false};
    const auto join = [&](rank_t r) {
        tcp_hosts mine = hosts;
        mine.rank = r;
        auto link = tcp::join(mine, options, results[r]);
        if (!link) return;
        if (r == 0) turned_away = link->strangers_turned_away();
        communicator comm{std::move(*link)};
        barrier(comm, results[r]);
        barrier(comm, results[r]);
    };
    std::thread zero([&] { join(0); });
    std::thread stranger([&] { intrude(hosts.hosts[0].port, over); });
    if (!together)
        stranger.join();
    else
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const auto begin = clock_type::now();
    std::thread one([&] { join(1); });
    zero.join();
    one.join();
    const double ms = ms_since(begin);
    over = true;
    if (together) stranger.join();
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
    CHECK(ms < 5000);
    return turned_away;
}

} // namespace

TEST_CASE("tcp: a group by a list of hosts, its ranks late by up to 100 ms") {
    tcp_hosts hosts = hosts_of(3);
    std::array<status, 3> results;
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != 3; ++r)
        threads.emplace_back([&, r] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50 * ((r + 1) % 3)));
            tcp_hosts mine = hosts;
            mine.rank = r;
            auto link = tcp::join(mine, {}, results[r]);
            if (!link) return;
            communicator comm{std::move(*link)};
            barrier(comm, results[r]);
        });
    for (auto& t : threads) t.join();
    for (const status& s : results) CHECK_FALSE(s);
}

TEST_CASE("tcp: a rank that never comes is named when the time is over") {
    tcp_hosts hosts = hosts_of(2);
    tcp_options options;
    options.timeout_ns = 100'000'000;
    status s;
    for (const rank_t me : {0u, 1u}) {
        hosts.rank = me;
        CHECK_FALSE(tcp::join(hosts, options, s));
        CHECK(s.code == errc::deadline);
        CHECK(s.peer == 1 - me);
    }
    CHECK_THROWS_AS(tcp(hosts, options), tcp_error);
    try { // as a program does that knows of no transport
        const tcp never(hosts, options);
        FAIL("there is no rank 0");
    } catch (const error& e) {
        CHECK((e.details().code == errc::deadline && e.details().peer == 0 && e.code() == errc::deadline));
        CHECK(std::string(e.what()).find("bough::tcp: rank 0: ") == 0);
    }
}

TEST_CASE("tcp: a list of hosts without a key is refused") {
    tcp_hosts hosts = hosts_of(2);
    hosts.key.forget();
    status s;
    CHECK_FALSE(tcp::join(hosts, {}, s));
    CHECK(s.code == errc::invalid_argument);
    CHECK(std::string(s.argument) == "key: is not set");
    CHECK_THROWS_AS(tcp(hosts), tcp_error);
}

TEST_CASE("tcp: a list of hosts may be waited for without end") {
    tcp_options options;
    options.timeout_ns = options.linger_ns = forever;
    CHECK(group_in_spite_of([](std::uint16_t, const auto&) {}, false, options) == 0);
}

TEST_CASE("tcp: strangers with the wrong key, with garbage or with too little take no place") {
    SECTION("a wrong key") {
        const auto away = group_in_spite_of([&](std::uint16_t port, const auto&) {
            const auto s = knock(port);
            greeting_message greeting{};
            proof_message proof{};
            nonce accepting{};
            bool right = hear(s, greeting) && read_greeting(greeting, accepting);
            right &=
                make_proof<openssl_mac>(job_key{}, {.job = 0, .size = 2, .from = 1, .to = 0}, accepting, {}, proof);
            right &= ::send(s.get(), proof.data(), proof.size(), MSG_NOSIGNAL) > 0;
            if (!right || !is_shown_out(s)) std::abort();
        });
        CHECK(away == 1);
    }
    SECTION("garbage, however much") {
        const auto away = group_in_spite_of([&](std::uint16_t port, const auto&) {
            for (const std::size_t length : {1u, 96u, 100'000u}) {
                const auto s = knock(port);
                const std::string noise(length, 'x');
                (void)::send(s.get(), noise.data(), noise.size(), MSG_NOSIGNAL);
                std::array<std::byte, greeting_bytes> greeting{};
                (void)::recv(s.get(), greeting.data(), greeting.size(), MSG_WAITALL);
                if (!is_shown_out(s)) std::abort();
            }
        });
        CHECK(away == 3);
    }
    SECTION("a half of a proof, and then the end") {
        const auto away = group_in_spite_of([&](std::uint16_t port, const auto&) {
            const auto s = knock(port);
            (void)::send(s.get(), "bghT, and then so on", 20, MSG_NOSIGNAL);
            ::shutdown(s.get(), SHUT_WR);
            greeting_message greeting{};
            if (!hear(s, greeting) || !is_shown_out(s)) std::abort();
        });
        CHECK(away == 1);
    }
    SECTION("nothing at all, for ever; and a byte now and then") {
        tcp_options options;
        options.stranger_timeout_ns = 200'000'000;
        std::atomic<bool> shown_out{false};
        group_in_spite_of(
            [&](std::uint16_t port, const std::atomic<bool>&) {
                const auto silent = knock(port), slow = knock(port);
                greeting_message greeting{};
                bool alive = hear(silent, greeting) && hear(slow, greeting);
                const auto begin = clock_type::now();
                const char* word = "bghTaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
                for (int i = 0; alive && i != 50; ++i) {
                    alive = ::send(slow.get(), word + i, 1, MSG_NOSIGNAL) == 1;
                    std::this_thread::sleep_for(std::chrono::milliseconds(10));
                }
                shown_out = is_shown_out(silent) && ms_since(begin) < 1900 && is_shown_out(slow);
            },
            false, options);
        CHECK(shown_out);
    }
}

TEST_CASE("tcp: a proof that was heard once is worth nothing the next time") {
    // A listener in rank 0's place hands rank 1's proof on, for a greeting of the real rank 0, and then says it again.
    const auto away = group_in_spite_of([&](std::uint16_t port, const auto&) {
        const auto first = knock(port);
        greeting_message greeting{};
        proof_message proof{};
        nonce accepting{};
        if (!hear(first, greeting) || !read_greeting(greeting, accepting)) std::abort();
        // The right key, but a nonce of another greeting.
        tcp_hosts hosts;
        job_key key;
        key.bytes()[0] = std::byte{42};
        accepting[0] ^= std::byte{1};
        if (!make_proof<openssl_mac>(key, {.job = 0, .size = 2, .from = 1, .to = 0}, accepting, {}, proof))
            std::abort();
        for (int i = 0; i != 2; ++i) {
            const auto s = knock(port);
            if (!hear(s, greeting)) std::abort();
            (void)::send(s.get(), proof.data(), proof.size(), MSG_NOSIGNAL);
            if (!is_shown_out(s)) std::abort();
        }
    });
    CHECK(away == 3);
}

TEST_CASE("tcp: every greeting has another nonce") {
    std::vector<nonce> seen;
    group_in_spite_of([&](std::uint16_t port, const auto&) {
        for (int i = 0; i != 5; ++i) {
            const auto s = knock(port);
            greeting_message greeting{};
            nonce n{};
            if (hear(s, greeting) && read_greeting(greeting, n)) seen.push_back(n);
        }
    });
    REQUIRE(seen.size() == 5);
    for (std::size_t i = 0; i != 5; ++i)
        for (std::size_t k = 0; k != i; ++k) CHECK(seen[i] != seen[k]);
}

TEST_CASE("tcp: a flood of silent connections delays nobody for long") {
    std::atomic<int> opened{0};
    tcp_options options;
    options.strangers = 16;
    const auto away = group_in_spite_of(
        [&](std::uint16_t port, const std::atomic<bool>& over) {
            std::vector<unique_fd> open;
            const auto begin = clock_type::now();
            while (!over && ms_since(begin) < 10'000) {
                unique_fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
                const tcp_address at{boost::asio::ip::make_address("127.0.0.1"), port};
                (void)::connect(s.get(), at.data(), static_cast<socklen_t>(at.size()));
                open.push_back(std::move(s));
                if (open.size() > 200) open.erase(open.begin(), open.begin() + 100);
                ++opened;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        },
        true, options);
    CHECK(opened > 50);
    CHECK(away > 0);
}

TEST_CASE("tcp: an impostor in a rank's place is found out") {
    tcp_hosts hosts = hosts_of(2);
    tcp_address at{boost::asio::ip::make_address("127.0.0.1"), hosts.hosts[0].port};
    unique_fd listener;
    REQUIRE_FALSE(listen_at(at, {}, listener));
    std::atomic<bool> over{false};
    std::thread impostor([&] { // greets, and welcomes with a mac of its own
        while (!over) {
            const unique_fd s = accept_socket(listener.get());
            if (!s) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            (void)send_now(s.get(), make_greeting({}));
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            answer_message answer{};
            make_answer<openssl_mac>(job_key{}, {}, {}, {}, {tcp_verdict::welcome}, answer);
            (void)send_now(s.get(), answer);
        }
    });
    hosts.rank = 1;
    tcp_options options;
    options.timeout_ns = 300'000'000;
    status s;
    CHECK_FALSE(tcp::join(hosts, options, s));
    over = true;
    impostor.join();
    CHECK(s.code == errc::protocol_error);
    CHECK(s.peer == 0);
}

TEST_CASE("tcp: once all ranks are there nobody is let in any more") {
    tcp_hosts hosts = hosts_of(2);
    std::array<status, 2> results;
    std::atomic<bool> refused{false};
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != 2; ++r)
        threads.emplace_back([&, r] {
            tcp_hosts mine = hosts;
            mine.rank = r;
            auto link = tcp::join(mine, {}, results[r]);
            if (!link) return;
            communicator comm{std::move(*link)};
            barrier(comm, results[r]);
            if (r == 0) {
                unique_fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
                const tcp_address at{boost::asio::ip::make_address("127.0.0.1"), mine.hosts[0].port};
                refused =
                    ::connect(s.get(), at.data(), static_cast<socklen_t>(at.size())) != 0 && errno == ECONNREFUSED;
            }
            barrier(comm, results[r]);
        });
    for (auto& t : threads) t.join();
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
    CHECK(refused);
}
