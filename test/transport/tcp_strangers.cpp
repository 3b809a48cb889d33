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

// A socket of nobody's. It blocks for at most 60 s: longer than a rank looks at a stranger, however busy the machine is.
unique_fd knock(const tcp_address& at) {
    unique_fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{60, 0};
    ::setsockopt(s.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(s.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    for (int i = 0; i != 60'000; ++i) {
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

// Rank 0 listens; `intrude(address, over)` runs; then rank 1 comes and the two must find each other all the same. With
// `meanwhile`, rank 1 comes when that is true, and `over` says when the two have met. Returns how many strangers rank 0
// turned away.
using intruder = std::function<void(const tcp_address&, const std::atomic<bool>&)>;
std::uint64_t group_in_spite_of(const intruder& intrude, const tcp_options& options = {},
                                const std::function<bool()>& meanwhile = {}) {
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
    std::thread stranger([&] { intrude(address_of(hosts.hosts[0]), over); });
    if (!meanwhile) stranger.join();
    while (meanwhile && !meanwhile()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto begin = clock_type::now();
    std::thread one([&] { join(1); });
    zero.join();
    one.join();
    const double ms = ms_since(begin);
    over = true;
    if (meanwhile) stranger.join();
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
    CHECK(group_in_spite_of([](const auto&, const auto&) {}, options) == 0);
}

TEST_CASE("tcp: strangers with the wrong key, with garbage or with too little take no place") {
    SECTION("a wrong key") {
        const auto away = group_in_spite_of([&](const tcp_address& at, const auto&) {
            const auto s = knock(at);
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
        const auto away = group_in_spite_of([&](const tcp_address& at, const auto&) {
            for (const std::size_t length : {1u, 96u, 100'000u}) {
                const auto s = knock(at);
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
        const auto away = group_in_spite_of([&](const tcp_address& at, const auto&) {
            const auto s = knock(at);
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
            [&](const tcp_address& at, const auto&) {
                const auto silent = knock(at), slow = knock(at);
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
            options);
        CHECK(shown_out);
    }
}

TEST_CASE("tcp: a proof that was heard once is worth nothing the next time") {
    // A listener in rank 0's place hands rank 1's proof on, for a greeting of the real rank 0, and then says it again.
    const auto away = group_in_spite_of([&](const tcp_address& at, const auto&) {
        const auto first = knock(at);
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
            const auto s = knock(at);
            if (!hear(s, greeting)) std::abort();
            (void)::send(s.get(), proof.data(), proof.size(), MSG_NOSIGNAL);
            if (!is_shown_out(s)) std::abort();
        }
    });
    CHECK(away == 3);
}

TEST_CASE("tcp: every greeting has another nonce") {
    std::vector<nonce> seen;
    group_in_spite_of([&](const tcp_address& at, const auto&) {
        for (int i = 0; i != 5; ++i) {
            const auto s = knock(at);
            greeting_message greeting{};
            nonce n{};
            if (hear(s, greeting) && read_greeting(greeting, n)) seen.push_back(n);
        }
    });
    REQUIRE(seen.size() == 5);
    for (std::size_t i = 0; i != 5; ++i)
        for (std::size_t k = 0; k != i; ++k) CHECK(seen[i] != seen[k]);
}

TEST_CASE("tcp: a flood of silent connections delays nobody until their time is over") {
    std::atomic<int> opened{0};
    std::atomic<bool> turned_away{false};
    tcp_options options;
    options.strangers = 16;
    options.stranger_timeout_ns = 2 * options.timeout_ns; // a rank that waits for them comes too late
    const auto away = group_in_spite_of(
        [&](const tcp_address& at, const std::atomic<bool>& over) {
            std::vector<unique_fd> open;
            while (!over) {
                unique_fd s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
                (void)::connect(s.get(), at.data(), static_cast<socklen_t>(at.size()));
                open.push_back(std::move(s));
                if (has_hung_up(open.front().get())) {
                    int error = 0; // refused: rank 0 does not listen yet
                    socklen_t length = sizeof error;
                    (void)::getsockopt(open.front().get(), SOL_SOCKET, SO_ERROR, &error, &length);
                    if (error == 0) turned_away = true;
                    open.erase(open.begin());
                }
                if (open.size() > 200) open.erase(open.begin(), open.begin() + 100);
                ++opened;
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        },
        options, [&] { return opened > 50 && (turned_away || opened > 20'000); });
    CHECK(away > 0);
}

TEST_CASE("tcp: an impostor in a rank's place is found out") {
    tcp_hosts hosts = hosts_of(2);
    tcp_address at = address_of(hosts.hosts[0]);
    unique_fd listener;
    REQUIRE_FALSE(listen_at(at, {}, listener));
    std::atomic<bool> over{false};
    std::atomic<int> answered{0};
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
            ++answered;
        }
    });
    // A rank looks for the others until its time is over. If the impostor had no time to answer, it has more.
    hosts.rank = 1;
    tcp_options options;
    options.timeout_ns = 300'000'000;
    status s;
    bool joined = false;
    for (; options.timeout_ns < 60'000'000'000; options.timeout_ns *= 3) {
        joined = tcp::join(hosts, options, s).has_value();
        if (joined || s.code != errc::deadline) break;
    }
    over = true;
    impostor.join();
    CHECK_FALSE(joined);
    CHECK(answered > 0);
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
                const tcp_address at = address_of(mine.hosts[0]);
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
