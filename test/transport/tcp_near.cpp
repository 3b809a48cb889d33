// SPDX-License-Identifier: BSL-1.0
// Ranks of one system talk over Unix sockets, where both sides want to; and the door that this opens is as well guarded.
#ifdef __linux__

#include "support/catch.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

using namespace bough;
using namespace bough::detail;
using namespace test_tcp;

namespace {

// The name of a rank of a list of hosts.
near_name name_of(const tcp_hosts& hosts, rank_t rank) {
    return near_name_of<openssl_mac>(hosts.key, job_of(hosts), rank);
}
// A connection to whoever listens by a name, within so long.
unique_fd knock(const near_name& name, double most_ms) {
    const near_address at(name);
    const timeval limit{5, 0};
    for (const auto begin = clock_type::now();; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
        unique_fd s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ::setsockopt(s.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (::connect(s.get(), at.get(), at.length) == 0) return s;
        if (ms_since(begin) >= most_ms) return {};
    }
}
// A rank of a list of hosts, to the end of a barrier; `strangers`: how many it has turned away.
status met(tcp_hosts hosts, rank_t rank, const tcp_options& options = {}, std::uint64_t* strangers = nullptr) {
    hosts.rank = rank;
    status result;
    auto link = tcp::join(hosts, options, result);
    if (!link) return result;
    if (strangers != nullptr) *strangers = link->strangers_turned_away();
    communicator comm{std::move(*link)};
    barrier(comm, result);
    return result;
}
// How many descriptors of this process are connected sockets of a family.
int connected(int family) {
    int found = 0;
    for (int d = 3; d != 1024; ++d) {
        sockaddr_storage at{};
        socklen_t length = sizeof at;
        found += ::getpeername(d, reinterpret_cast<sockaddr*>(&at), &length) == 0 && at.ss_family == family;
    }
    return found;
}

// Ranks 0 and 1 of a lazy group, driven by one thread; 0 has a message for 1.
struct lazy_pair {
    tcp_options options;
    tcp_hosts hosts = hosts_of(2);
    std::optional<tcp> caller, called;
    std::array<std::byte, 8> bytes{};
    posted said = posted::would_block;
    int arrived = 0, lost = 0;

    explicit lazy_pair(std::uint64_t stranger_timeout_ns = 2'000'000'000) {
        options.eager_mesh = 1;
        options.stranger_timeout_ns = stranger_timeout_ns;
        for (const rank_t r : {0u, 1u}) {
            status s;
            hosts.rank = r;
            (r == 0 ? caller : called) = tcp::join(hosts, options, s);
            REQUIRE_FALSE(s);
        }
    }
    void poll(tcp& end) {
        std::array<event, 8> events;
        for (std::size_t n = end.poll(events), i = 0; i != n; ++i) {
            arrived += events[i].what == event::kind::arrived;
            lost += events[i].what == event::kind::lost;
        }
    }
    void call() {
        poll(*caller);
        if (said == posted::would_block) said = caller->post_send(1, {}, bytes, 1);
    }
    // As often as it takes until it looks at its door.
    void answer() {
        for (int i = 0; i != 65; ++i) poll(*called);
    }
    void until_it_arrives() {
        for (const auto begin = clock_type::now(); arrived + lost == 0 && ms_since(begin) < 20'000;) {
            call();
            answer();
        }
    }
};

} // namespace

TEST_CASE("tcp: ranks of one system find each other, however long who calls has not looked at what was answered") {
    for (int polls = 1; polls != 7; ++polls)
        for (const bool listens : {false, true}) {
            const int before = connected(AF_UNIX);
            lazy_pair on(30'000'000);
            for (int i = 0; i != polls; ++i) {
                on.call();
                on.answer();
            }
            for (const auto begin = clock_type::now(); ms_since(begin) < 50;) {
                if (listens) on.answer();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            on.until_it_arrives();
            CAPTURE(polls, listens);
            CHECK(on.lost == 0);
            CHECK(on.arrived == 1);
            CHECK(on.said == posted::complete);
            // Who is listened to while it computes is shown out at the beginning, and calls again.
            if (!listens) CHECK(connected(AF_UNIX) - before == 2);
        }
}
TEST_CASE("tcp: a rank that was welcomed and ends the connection is not lost, and can call again") {
    lazy_pair on;
    for (int i = 0; i != 3; ++i) {
        const unique_fd s = knock(name_of(on.hosts, 1), 0);
        REQUIRE(s);
        on.answer();
        greeting_message greeting{};
        proof_message proof{};
        answer_message answer{};
        nonce accepting{};
        tcp_answer said;
        const introduction who{.job = job_of(on.hosts), .size = 2, .from = 0, .to = 1};
        REQUIRE(::recv(s.get(), greeting.data(), greeting.size(), 0) == static_cast<ssize_t>(greeting.size()));
        REQUIRE(read_greeting(greeting, accepting));
        REQUIRE(make_proof<openssl_mac>(on.hosts.key, who, accepting, {}, proof));
        REQUIRE(send_now(s.get(), proof));
        on.answer();
        REQUIRE(::recv(s.get(), answer.data(), answer.size(), 0) == static_cast<ssize_t>(answer.size()));
        REQUIRE(check_answer<openssl_mac>(on.hosts.key, who, accepting, {}, answer, said));
        REQUIRE(said.verdict == tcp_verdict::welcome);
        CHECK(on.called->post_send(0, {}, on.bytes, 1) == posted::would_block); // it may not become the pair's
        if (i == 1) (void)send_now(s.get(), std::as_bytes(std::span("boughT0")));
        if (i == 2) (void)send_now(s.get(), std::as_bytes(std::span("none of the protocol")));
        on.answer();
    }
    on.until_it_arrives();
    CHECK(on.lost == 0);
    CHECK(on.arrived == 1);
}
TEST_CASE("tcp: who has welcomed a rank that does not answer sleeps, until it does") {
    lazy_pair on;
    for (int i = 0; i != 3; ++i) { // to its proof
        on.call();
        on.answer();
    }
    pollfd door{on.called->descriptor(), POLLIN, 0};
    REQUIRE(door.fd >= 0);
    for (const auto begin = clock_type::now(); !on.called->arm() && ms_since(begin) < 20'000;) on.answer();
    REQUIRE(on.called->arm());
    CHECK(::poll(&door, 1, 0) == 0);
    on.call();
    CHECK(on.said == posted::complete);
    CHECK(::poll(&door, 1, 20'000) == 1);
    on.called->disarm();
    on.until_it_arrives();
    CHECK(on.arrived == 1);
    CHECK(on.lost == 0);
}
TEST_CASE("tcp: ranks of one system are connected by Unix sockets, unless one of them does not want to") {
    for (const rank_t unwilling : {4u, 0u, 2u})
        for (const rank_t eager : {128u, 1u}) {
            const int before = connected(AF_UNIX);
            testing::thread_wire_up world{4};
            std::vector<std::optional<tcp>> ends(4);
            std::vector<std::thread> threads;
            std::atomic<int> ready{0};
            std::atomic<bool> over{false};
            for (rank_t r = 0; r != 4; ++r)
                threads.emplace_back([&, r] {
                    auto wire = world.of(r);
                    tcp_options options;
                    options.near_sockets = r != unwilling;
                    options.eager_mesh = eager;
                    options.stranger_timeout_ns = 20'000'000'000; // after that it would be TCP
                    status s;
                    auto link = tcp::join(wire, options, s);
                    if (!link) return;
                    communicator comm{std::move(*link)};
                    std::vector<std::uint32_t> mine(4, r), theirs(4);
                    alltoall(comm, std::span<const std::uint32_t>(mine), std::span(theirs), s);
                    ready += !s && theirs == std::vector<std::uint32_t>{0, 1, 2, 3};
                    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                });
            for (const auto begin = clock_type::now(); ready != 4 && ms_since(begin) < 20'000;)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            CAPTURE(unwilling, eager);
            CHECK(ready == 4);
            // Six pairs, of which three are the unwilling one's; both ends are in this process.
            CHECK(connected(AF_UNIX) - before == (unwilling == 4 ? 12 : 6));
            CHECK(connected(AF_INET) == (unwilling == 4 ? 0 : 6));
            over = true;
            for (std::thread& t : threads) t.join();
        }
}

TEST_CASE("tcp: strangers at the Unix door take no place, and it closes when all ranks are there") {
    const tcp_hosts hosts = hosts_of(2);
    const near_name name = name_of(hosts, 0);
    std::array<status, 2> results;
    std::uint64_t turned_away = 0;
    // A group of which one rank is late: the door of the other stays open.
    std::thread zero([&] { results[0] = met(hosts, 0, {}, &turned_away); });
    {
        const unique_fd s = knock(name, 20'000);
        CHECK(s);
        greeting_message greeting{};
        nonce accepting{};
        proof_message proof{};
        CHECK(::recv(s.get(), greeting.data(), greeting.size(), MSG_WAITALL) == static_cast<ssize_t>(greeting.size()));
        CHECK(read_greeting(greeting, accepting));
        CHECK(make_proof<openssl_mac>(job_key{}, {.size = 2, .from = 1, .to = 0}, accepting, {}, proof));
        CHECK(::send(s.get(), proof.data(), proof.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(proof.size()));
        std::byte more{};
        CHECK(::recv(s.get(), &more, 1, 0) <= 0);
        CHECK(errno != EAGAIN);
    }
    std::thread one([&] { results[1] = met(hosts, 1); });
    zero.join();
    one.join();
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
    CHECK(turned_away == 1);
    CHECK_FALSE(knock(name, 0));
}

TEST_CASE("tcp: whoever has taken the Unix name of a rank does not keep the others from it") {
    const tcp_hosts hosts = hosts_of(2);
    const unique_fd name = listen_nearby(name_of(hosts, 0), 0);
    REQUIRE(name);
    enum class kind { silent, leaves, lies, greets };
    const auto how = GENERATE(kind::silent, kind::leaves, kind::lies, kind::greets);
    CAPTURE(how);
    std::array<status, 2> results;
    std::atomic<bool> over{false};
    std::atomic<int> asked{0};
    std::thread squatter([&] {
        std::vector<unique_fd> held;
        while (!over) {
            unique_fd s = accept_socket(name.get());
            if (!s) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                continue;
            }
            ++asked;
            if (how == kind::lies)
                (void)send_now(s.get(), std::as_bytes(std::span("I am your rank 0, and have not got any key")));
            if (how == kind::greets) (void)send_now(s.get(), make_greeting({}));
            if (how != kind::leaves) held.push_back(std::move(s));
        }
    });
    std::vector<std::thread> threads;
    for (const rank_t r : {0u, 1u})
        threads.emplace_back([&, r] {
            tcp_options options;
            options.near_sockets = r != 0;                        // it is on another system, say
            if (r == 1) options.stranger_timeout_ns = 50'000'000; // for whoever it calls on by such a name
            results[r] = met(hosts, r, options);
        });
    for (std::thread& t : threads) t.join();
    over = true;
    squatter.join();
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
    CHECK(asked >= 1);
}

TEST_CASE("tcp: two processes of a system cannot both be one rank") {
    const tcp_hosts hosts = hosts_of(1);
    const unique_fd name = listen_nearby(name_of(hosts, 0), 0);
    REQUIRE(name);
    const status s = met(hosts, 0);
    CHECK(s.code == errc::invalid_argument);
    REQUIRE(s.argument != nullptr);
    CHECK(std::string(s.argument) == "rank: another process of this system has its place");
}

TEST_CASE("tcp: where a system gives no Unix sockets, a list of hosts meets over TCP") {
    // In these threads alone, and for good.
    const auto forbid_unix_sockets = [] {
        std::array<sock_filter, 6> rules{{
            {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
            {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_socket},
            {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args)}, // the lower half
            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, AF_UNIX},
            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EAFNOSUPPORT},
            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
        }};
        const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        return !unique_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    };
    const tcp_hosts hosts = hosts_of(2);
    std::array<status, 2> results;
    std::atomic<int> forbidden{0};
    std::vector<std::thread> threads;
    for (const rank_t r : {0u, 1u})
        threads.emplace_back([&, r] {
            forbidden += forbid_unix_sockets();
            results[r] = met(hosts, r);
        });
    for (std::thread& t : threads) t.join();
    if (forbidden != 2) WARN("Unix sockets could not be forbidden here");
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
}

#endif
