// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/lifeline.hpp>

#include <atomic>
#include <csignal>
#include <linux/sockios.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using bough::detail::lifelines;
using bough::detail::unique_fd;

namespace {

// A line to a peer, and the peer's end of it.
unique_fd add_peer(lifelines& lines) {
    int pair[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    REQUIRE(lines.add(1, unique_fd(pair[0]), 0));
    return unique_fd(pair[1]);
}

} // namespace

TEST_CASE("lifeline: a peer lives until it closes its end") {
    lifelines lines;
    unique_fd theirs = add_peer(lines);
    CHECK(lines.alive(1));
    theirs.reset();
    CHECK_FALSE(lines.alive(1));
    int gone = 0;
    lines.look([&](bough::rank_t r) { gone += r == 1; });
    lines.look([&](bough::rank_t r) { gone += r == 1; });
    CHECK(gone == 1);
}

TEST_CASE("lifeline: a peer that rings without end does not hold who looks") {
    lifelines lines;
    const unique_fd theirs = add_peer(lines);
    const std::vector<char> rings(8192, 1);
    const auto unheard = [&] {
        int bytes = 0;
        REQUIRE(::ioctl(theirs.get(), SIOCOUTQ, &bytes) == 0);
        return bytes;
    };
    while (::send(theirs.get(), rings.data(), rings.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    int deaths = 0;
    const auto count = [&](bough::rank_t) { ++deaths; };
    lines.look(count);
    CHECK(unheard() != 0);
    for (int turn = 0; turn != 100'000 && unheard() != 0; ++turn) lines.look(count);
    CHECK(unheard() == 0);
    CHECK(deaths == 0);
    CHECK(lines.alive(1));
}

// Also a system call that does not wait is interrupted by a signal that is due.
TEST_CASE("lifeline: a signal is not a death") {
    struct sigaction quiet {
    }, before{};
    quiet.sa_handler = [](int) {};
    quiet.sa_flags = SA_RESTART;
    REQUIRE(::sigaction(SIGUSR1, &quiet, &before) == 0);
    lifelines lines;
    const unique_fd theirs = add_peer(lines);
    std::atomic<bool> over{false};
    const pthread_t me = ::pthread_self();
    std::thread storm([&] {
        while (!over) ::pthread_kill(me, SIGUSR1);
    });
    int deaths = 0;
    for (int turn = 0; turn != 1'000'000; ++turn) deaths += !lines.alive(1);
    over = true;
    storm.join();
    CHECK(deaths == 0);
    ::sigaction(SIGUSR1, &before, nullptr);
}
