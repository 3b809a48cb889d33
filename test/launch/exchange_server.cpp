// SPDX-License-Identifier: BSL-1.0
// What a rank may say to its launcher, right and wrong.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/launch/detail/exchange_server.hpp>

#include <cstring>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail::jobs;
using bough::detail::unique_fd;

namespace {

// A server with its ranks' ends in this process.
struct world {
    explicit world(rank_t ranks) : server(ranks) {
        for (rank_t r = 0; r != ranks; ++r) {
            int pair[2];
            REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
            server.add(r, unique_fd(pair[0]));
            server.serve(r);
            ends.emplace_back(pair[1]);
            launch_hello hello;
            REQUIRE_FALSE(launched_wire_up::greet(pair[1], hello, 0));
            CHECK(hello.rank == r);
            CHECK(hello.size == ranks);
        }
    }
    void say(rank_t rank, const void* bytes, std::size_t count) {
        REQUIRE(::send(ends[rank].get(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count));
        server.serve(rank);
    }
    void ask(rank_t rank, std::uint32_t number, std::vector<char> bytes) {
        const launch_ask a{number, static_cast<std::uint32_t>(bytes.size())};
        std::vector<char> whole(sizeof a);
        std::memcpy(whole.data(), &a, sizeof a);
        whole.insert(whole.end(), bytes.begin(), bytes.end());
        say(rank, whole.data(), whole.size());
    }
    // What the rank has been told; nothing if it has not.
    std::vector<char> heard(rank_t rank) {
        std::vector<char> bytes(1 << 16);
        const ssize_t n = ::recv(ends[rank].get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return bytes;
    }
    launch_answer answer(rank_t rank) {
        const auto bytes = heard(rank);
        launch_answer a{.code = 999};
        if (bytes.size() >= sizeof a) std::memcpy(&a, bytes.data(), sizeof a);
        return a;
    }

    exchange_server server;
    std::vector<unique_fd> ends;
};

} // namespace

TEST_CASE("exchange_server: answers when all have asked, byte by byte too") {
    world w(2);
    for (std::uint32_t number = 1; number != 4; ++number) {
        const launch_ask a{number, 3};
        char whole[sizeof a + 3];
        std::memcpy(whole, &a, sizeof a);
        std::memcpy(whole + sizeof a, "abc", 3);
        for (const char& c : whole) w.say(0, &c, 1);
        CHECK(w.heard(0).empty());
        w.ask(1, number, {'d', 'e', 'f'});
        for (const rank_t r : {0u, 1u}) {
            const auto bytes = w.heard(r);
            REQUIRE(bytes.size() == sizeof(launch_answer) + 6);
            CHECK(std::memcmp(bytes.data() + sizeof(launch_answer), "abcdef", 6) == 0);
        }
    }
}

TEST_CASE("exchange_server: what all are told is kept once, however many have not read it") {
    constexpr rank_t ranks = 32;
    world w(ranks);
    for (rank_t r = 0; r != ranks; ++r) {
        const int least = 1; // the kernel's own least
        REQUIRE(::setsockopt(w.server.descriptor(r), SOL_SOCKET, SO_SNDBUF, &least, sizeof least) == 0);
    }
    const std::vector<char> mine(most_wire_up_bytes, 'x');
    for (rank_t r = 0; r != ranks; ++r) w.ask(r, 1, mine);
    const std::size_t all = ranks * most_wire_up_bytes;
    CHECK(w.server.kept_bytes() >= all);
    CHECK(w.server.kept_bytes() <= all + ranks * sizeof(launch_answer));
    for (rank_t r = 0; r != ranks; ++r) {
        std::size_t heard = 0;
        for (int turn = 0; turn != 1000 && heard != all + sizeof(launch_answer); ++turn) {
            heard += w.heard(r).size();
            w.server.serve(r);
        }
        CHECK(heard == all + sizeof(launch_answer));
        CHECK_FALSE(w.server.wants_to_write(r));
    }
    CHECK(w.server.kept_bytes() == 0);
}

TEST_CASE("exchange_server: a rank that is gone ends what is under way, and what comes later") {
    world w(3);
    w.ask(0, 1, {'a'});
    w.server.gone(2);
    w.server.serve(0);
    const launch_answer first = w.answer(0);
    CHECK(first.code == static_cast<std::uint32_t>(errc::peer_dead));
    CHECK(first.peer == 2);
    w.ask(1, 1, {'b'});
    CHECK(w.answer(1).peer == 2);
    w.ask(1, 2, {});
    CHECK(w.answer(1).peer == 2);
}

TEST_CASE("exchange_server: whoever breaks the protocol is cut off, and named to the others") {
    for (int what = 0; what != 4; ++what) {
        world w(2);
        w.ask(0, 1, {'a'});
        const launch_ask too_long{1, 1025}, wrong_number{2, 0}, good{1, 1};
        switch (what) {
        case 0: w.say(1, &too_long, sizeof too_long); break;
        case 1: w.say(1, &wrong_number, sizeof wrong_number); break;
        case 2: // more than it announced
            w.say(1, &good, sizeof good);
            w.say(1, "xyz", 3);
            break;
        default: // a rank that asks again before it was answered
            w.say(0, &good, sizeof good);
        }
        const rank_t guilty = what == 3 ? 0 : 1, other = 1 - guilty;
        CHECK(w.server.descriptor(guilty) == -1);
        if (other == 1) w.ask(1, 1, {'b'});
        w.server.serve(other);
        const launch_answer a = w.answer(other);
        CAPTURE(what);
        CHECK(a.code == static_cast<std::uint32_t>(errc::protocol_error));
        CHECK(a.peer == guilty);
    }
}

TEST_CASE("exchange_server: noise neither breaks it nor makes it keep much") {
    for (std::uint64_t turn = 0; turn != 300; ++turn) {
        world w(3);
        for (std::uint64_t i = 0; i != 8; ++i) {
            const std::uint64_t k = bough_test::mixed(bough_test::mixed(bough_test::seed()) + turn * 8 + i);
            const auto rank = static_cast<rank_t>(k % 3);
            std::vector<std::uint32_t> noise((k >> 8) % 700);
            for (std::size_t j = 0; j != noise.size(); ++j) {
                const std::uint64_t word = bough_test::mixed(k + j);
                noise[j] = static_cast<std::uint32_t>(word % 4 == 0 ? word >> 32 : word % 5);
            }
            if (w.server.descriptor(rank) < 0 || noise.empty()) continue;
            w.say(rank, noise.data(), noise.size() * 4);
        }
        for (rank_t r = 0; r != 3; ++r) w.server.gone(r);
        for (rank_t r = 0; r != 3; ++r) CHECK(w.server.descriptor(r) == -1);
    }
}
