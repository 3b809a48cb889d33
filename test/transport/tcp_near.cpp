// SPDX-License-Identifier: BSL-1.0
// Ranks of one system talk over Unix sockets, where both sides want to; and the door that this opens is as well guarded.
#include "support/catch.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <set>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <vector>

#ifdef __linux__

using namespace bough;
using namespace bough::detail;
using namespace test_tcp;

namespace {

// Abstract Unix sockets of bough's that somebody listens at now.
std::set<std::string> doors() {
    std::ifstream table("/proc/net/unix");
    std::set<std::string> found;
    for (std::string line; std::getline(table, line);)
        if (const auto at = line.find("@bough-"); at != line.npos && line.find(" 00010000 ") != line.npos)
            found.insert(line.substr(at + 1));
    return found;
}
unique_fd knock(const std::string& name) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name.copy(at.sun_path + 1, sizeof at.sun_path - 1);
    unique_fd s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval limit{5, 0};
    ::setsockopt(s.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&at), length) != 0) s.reset();
    return s;
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

} // namespace

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
    const auto before = doors();
    std::array<status, 2> results;
    std::uint64_t turned_away = 0;
    // A group of which one rank is late: the door of the other stays open.
    tcp_hosts hosts;
    hosts.key.bytes()[0] = std::byte{42};
    for (int i = 0; i != 2; ++i) {
        tcp_address at{boost::asio::ip::make_address("127.0.0.1"), 0};
        unique_fd listener;
        REQUIRE_FALSE(listen_at(at, {}, listener)); // free a moment ago
        hosts.hosts.push_back({"127.0.0.1", at.port()});
    }
    const auto join = [&](rank_t r) {
        tcp_hosts mine = hosts;
        mine.rank = r;
        auto link = tcp::join(mine, {}, results[r]);
        if (!link) return;
        if (r == 0) turned_away = link->strangers_turned_away();
        communicator comm{std::move(*link)};
        barrier(comm, results[r]);
    };
    std::thread zero([&] { join(0); });
    std::string name;
    for (const auto begin = clock_type::now(); name.empty() && ms_since(begin) < 10'000;)
        for (const std::string& door : doors())
            if (!before.contains(door)) name = door;
    REQUIRE_FALSE(name.empty());
    {
        const unique_fd s = knock(name);
        REQUIRE(s);
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
    std::thread one([&] { join(1); });
    zero.join();
    one.join();
    CHECK_FALSE(results[0]);
    CHECK_FALSE(results[1]);
    CHECK(turned_away == 1);
    CHECK_FALSE(knock(name));
}

#endif
