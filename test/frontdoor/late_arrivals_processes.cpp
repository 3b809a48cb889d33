// SPDX-License-Identifier: BSL-1.0
// Ranks that are expected to come late, as processes that share memory: results in rank order whoever comes
// last, deaths, a fork, an event loop, and how a rank waits.
#if defined(__linux__)
#include "frontdoor/late_arrivals.hpp"

#include "support/catch.hpp"
#include "support/until.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/communicator.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/events.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <span>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::processes;
using bough_test::report;
using bough_test::shared_ends;
using bough_test::until;
using test::late::exercise;
using test::late::is;
using test::late::late;
using test::late::sum_until_an_error;

namespace {

bool is_death_of(const status& s, rank_t dead) { return is(s, errc::peer_dead) && s.peer == dead; }

} // namespace

TEST_CASE("late ranks: every number of processes, every root, in rank order, whoever comes last") {
    for (rank_t p = 1; p != 10; ++p) {
        processes group(p, [&](auto& wire, report& told) {
            communicator comm{shared_memory{wire, {.common_bytes = p % 2 == 0 ? 4u << 20 : 150'000u}}};
            auto part = split(comm, comm.rank() % 2);
            told.wrong = static_cast<std::uint64_t>(exercise(comm, 100) + exercise(part, 40));
            told.phase = 1;
        });
        group.wait();
        for (rank_t r = 0; r != p; ++r) {
            CHECK(group.exit_code(r) == 0);
            CHECK(group.of(r).phase == 1);
            CHECK(group.of(r).wrong == 0);
        }
    }
}
TEST_CASE("late ranks: a process that dies is an error on every other one") {
    for (const rank_t victim : {0u, 1u, 3u}) {
        processes group(4, [&](auto& wire, report& told) {
            communicator comm{shared_memory{wire}};
            std::uint64_t x = 1;
            allreduce(comm, std::span(&x, 1), plus{}, late);
            told.phase = 1;
            if (comm.rank() == victim) {
                for (int i = 0; i != 20; ++i) {
                    x = 1;
                    allreduce(comm, std::span(&x, 1), plus{}, late);
                }
                std::raise(SIGKILL);
            }
            told.result = sum_until_an_error(comm);
            told.phase = 2;
        });
        group.wait();
        for (rank_t r = 0; r != 4; ++r)
            if (r != victim) {
                CHECK(group.of(r).phase == 2);
                CHECK(is_death_of(group.of(r).result, victim));
            }
    }
}
TEST_CASE("late ranks: a process that dies while it combines for others is an error, and not for ever") {
    struct deadly {
        bool kills = false;
        std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
            if (kills) std::raise(SIGKILL);
            return a + b;
        }
    };
    processes group(4, [&](auto& wire, report& told) {
        communicator comm{shared_memory{wire}};
        std::uint64_t x = 1;
        if (comm.rank() == 3) { // all others have come
            told.phase = 1;
            until([&] { return told.phase == 2; });
            allreduce(comm, std::span(&x, 1), deadly{true}, late);
        }
        operation op = start_allreduce(comm, x, deadly{}, late);
        told.phase = 1;
        op.wait(told.result);
        told.phase = 2;
    });
    REQUIRE(group.reached(1));
    group.of(3).phase = 2;
    group.wait();
    for (rank_t r = 0; r != 3; ++r) {
        CHECK(group.of(r).phase == 2);
        CHECK(is_death_of(group.of(r).result, 3));
    }
}
TEST_CASE("late ranks: the child of a fork changes nothing that others see") {
    auto ends = shared_ends(2);
    const std::span<const std::byte> seen = ends[0].common(0, 0, 4u << 20);
    communicator mine{std::move(ends[0])}, peer{std::move(ends[1])};
    std::array<std::uint64_t, 6> x{1, 1, 1, 1, 1, 1}, y{2, 2, 2, 2, 2, 2};
    std::array<operation, 6> held, theirs; // the last ones have no bank yet
    for (std::size_t i = 0; i != 6; ++i) held[i] = start_allreduce(mine, x[i], plus{}, late);
    const std::vector<std::byte> before(seen.begin(), seen.end());
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        std::uint64_t z = 1;
        status s;
        bool good = held[0].wait_for_ns(1) && held[0].result().code == errc::forked_child;
        good = good && held[5].poll() && held[5].result().code == errc::forked_child;
        held[1].cancel();
        held[1] = {};
        held[2].wait(s);
        good = good && s.code == errc::forked_child;
        start_allreduce(mine, z, plus{}, late).wait(s);
        ::_exit(good && s.code == errc::forked_child ? 0 : 1);
    }
    int state = -1;
    REQUIRE(::waitpid(child, &state, 0) == child);
    CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
    CHECK(std::equal(before.begin(), before.end(), seen.begin()));
    for (std::size_t i = 0; i != 6; ++i) theirs[i] = start_allreduce(peer, y[i], plus{}, late);
    for (std::size_t i = 0; i != 6; ++i) {
        until([&] {
            const bool is_here = held[i].poll(); // both have to look
            return theirs[i].poll() && is_here;
        });
        CHECK((!held[i].result() && !theirs[i].result() && x[i] == 3 && y[i] == 3));
    }
}
TEST_CASE("late ranks: a rank that sleeps in an event loop is woken by the last one, and by one that frees memory") {
    auto ends = shared_ends(2);
    if (ends[0].descriptor() < 0) {
        WARN("skipped: the kernel has no barriers, so there is no descriptor");
        return;
    }
    communicator mine{std::move(ends[0])}, peer{std::move(ends[1])};
    event_progress events{mine};
    const auto readable = [&] {
        pollfd of{events.descriptor(), POLLIN, 0};
        return ::poll(&of, 1, 0) == 1;
    };
    std::array<std::uint64_t, 5> x{1, 1, 1, 1, 1}, y{1, 1, 1, 1, 1};
    operation first = start_allreduce(mine, x[0], plus{}, late);
    while (events.prepare() == 0) {
    }
    CHECK_FALSE(readable());
    operation of_peer = start_allreduce(peer, y[0], plus{}, late);
    CHECK(readable());
    events.progress();
    CHECK((first.done() && x[0] == 2 && of_peer.done()));
    // The peer is the root, and does not look at its results: the fifth has no memory.
    std::array<operation, 5> all, theirs;
    for (std::size_t i = 0; i != 4; ++i) theirs[i] = start_reduce(peer, y[i], plus{}, root{1}, late);
    for (std::size_t i = 0; i != 5; ++i) all[i] = start_reduce(mine, x[i], plus{}, root{1}, late);
    CHECK((all[3].done() && !all[4].done()));
    while (events.prepare() == 0) {
    }
    CHECK_FALSE(readable());
    until([&] { return theirs[0].poll(); });
    CHECK(readable());
    events.progress();
    CHECK(all[4].done());
    theirs[4] = start_reduce(peer, y[4], plus{}, root{1}, late);
    CHECK((theirs[4].done() && !theirs[4].result()));
}
TEST_CASE("late ranks: a wait sleeps soon, at once after a long one, and ends when the rank is woken") {
    auto ends = shared_ends(2);
    shared_memory& memory = ends[0];
    constexpr std::uint64_t ms = 1'000'000;
    // Waits until a call has slept for its 2 ms; in how many calls.
    const auto calls_until_asleep = [&] {
        for (std::uint32_t idle = 1;; ++idle) {
            const std::uint64_t before = memory.now_ns();
            memory.wait_for_late(idle, before + 2 * ms);
            if (memory.now_ns() - before >= 2 * ms) return idle;
        }
    };
    const std::uint32_t at_first = calls_until_asleep();
    std::uint32_t after_a_long_one = at_first;
    for (int i = 0; i != 5; ++i) after_a_long_one = std::min(after_a_long_one, calls_until_asleep());
    CHECK(after_a_long_one <= at_first);
    CHECK(after_a_long_one <= 600); // no more than it spins
    // Woken, it does not sleep before it has polled.
    std::array<event, 4> events;
    memory.poll(events);
    ends[1].wake(0);
    std::uint64_t longest_ns = 0; // of one call: together they take longer where other programs run
    for (std::uint32_t idle = 1; idle != 1000; ++idle) {
        const std::uint64_t from = memory.now_ns();
        memory.wait_for_late(idle, from + 5000 * ms);
        longest_ns = std::max(longest_ns, memory.now_ns() - from);
    }
    CHECK(longest_ns < 4000 * ms);
    memory.poll(events);
    CHECK(calls_until_asleep() <= 3000);
}
#endif
