// SPDX-License-Identifier: BSL-1.0
// Partial calls between processes, over every link: random late ranks; and one that dies, one that is
// stopped, and a decider that dies, while the others call on.
#include "call/partial.hpp"

#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/call/partial.hpp>
#include <bough/core/absence.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;
using bough_test::clock_ns;
using bough_test::over_each_link;
using bough_test::processes;
using bough_test::report;

namespace {

constexpr std::uint64_t ms = 1'000'000;

// A vector of so many elements from each rank, each with a bit of the rank. `sum`: of the bits.
template <class Comm>
status add(Comm& comm, partial how, std::uint64_t& sum, std::size_t count = 1) {
    const std::vector<std::uint64_t> in(count, std::uint64_t{1} << comm.rank());
    std::vector<std::uint64_t> out(count);
    contributors came;
    how.contributed = &came;
    status s;
    allreduce(comm, in, out, plus{}, how, s);
    sum = out[count - 1];
    if (s) return s;
    for (rank_t r = 0; r != comm.size(); ++r)
        if (came.has(r) != ((sum >> r & 1) != 0) || out[0] != sum) return {.code = errc::protocol_error};
    return s;
}

} // namespace

TEST_CASE("processes: partial calls with random late ranks, over each link") {
    const std::uint64_t rounds = bough_test::all() ? 3'000 : 200;
    over_each_link([&]<class Link>(Link) {
        for (const rank_t p : {2u, 5u, 7u}) {
            processes group(p, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire), {.timeout_ns = 60'000 * ms}};
                std::uint64_t heard = 0;
                told.wrong = static_cast<std::uint64_t>(test::partial_calls::exercise(
                    comm, 0, rounds, [&](std::uint64_t, const test::partial_calls::outcome& o) {
                        heard = bough_test::mixed(heard ^ o.hash) + o.who;
                    }));
                std::memcpy(&told.numbers[0], &heard, sizeof heard);
                barrier(comm);
                told.phase = 1;
            });
            group.wait();
            for (rank_t r = 0; r != p; ++r) {
                CAPTURE(Link::name, p, r, group.exit_code(r));
                CHECK((group.exit_code(r) == 0 && group.of(r).phase == 1));
                CHECK(group.of(r).wrong == 0);
                CHECK(std::memcmp(group.of(r).numbers, group.of(0).numbers, sizeof(double)) == 0);
            }
        }
    });
}

TEST_CASE("processes: results of 1 MiB wait for a late process") {
    over_each_link([&]<class Link>(Link) {
        constexpr std::size_t count = 1 << 17;
        processes group(3, [&](auto& wire, report& told) {
            communicator comm{Link::join(wire), {.timeout_ns = 60'000 * ms}};
            if (comm.rank() == 1) std::this_thread::sleep_for(300ms);
            for (int k = 0; k != 20; ++k) {
                std::uint64_t sum = 0;
                told.check(!add(comm, {.at_least = 2, .behind = 6}, sum, count));
                if (k == 0) told.numbers[0] = static_cast<double>(sum);
                if (k == 5 && comm.rank() == 0) told.numbers[1] = 1;
            }
            barrier(comm);
            told.phase = 1;
        });
        group.wait();
        for (rank_t r = 0; r != 3; ++r) {
            CAPTURE(Link::name, r);
            CHECK((group.exit_code(r) == 0 && group.of(r).phase == 1 && group.of(r).wrong == 0));
            CHECK(group.of(r).numbers[0] == 5);
        }
    });
}

TEST_CASE("processes: the others call on without a process that is killed, beyond the bound") {
    over_each_link([&]<class Link>(Link) {
        processes group(4, [&](auto& wire, report& told) {
            communicator comm{Link::join(wire), {.timeout_ns = 20'000 * ms}};
            std::uint64_t sum = 0;
            for (int k = 0; k != 3; ++k) told.check(!add(comm, {.at_least = 4}, sum));
            told.phase = 1;
            if (comm.rank() == 2)
                for (;;) std::this_thread::sleep_for(1s);
            for (int k = 0; k != 40; ++k) {
                told.check(!add(comm, {.within = 1ms, .at_least = 3, .behind = 4}, sum));
                told.check(sum == 11);
            }
            told.phase = 2;
            while (told.phase != 3) comm.progress(); // the next call would end what is in flight on other ranks
            // Where it is needed, the call ends; and the group goes on without it.
            const status s = add(comm, {.at_least = 4}, sum);
            told.result = s;
            comm = shrink(comm);
            told.check(comm.size() == 3 && !add(comm, {.at_least = 3}, sum) && sum == 7);
            told.phase = 4;
        });
        REQUIRE(group.reached(1));
        std::this_thread::sleep_for(20ms);
        group.kill(2, SIGKILL);
        for (const rank_t r : {0u, 1u, 3u})
            while (group.of(r).phase != 2) std::this_thread::sleep_for(1ms);
        for (const rank_t r : {0u, 1u, 3u}) group.of(r).phase = 3;
        group.wait();
        for (const rank_t r : {0u, 1u, 3u}) {
            const status& s = group.of(r).result;
            CAPTURE(Link::name, r, group.exit_code(r), group.of(r).phase, message_of(s));
            CHECK((group.exit_code(r) == 0 && group.of(r).phase == 4 && group.of(r).wrong == 0));
            CHECK((s.code == errc::peer_dead || s.cause == errc::peer_dead));
            CHECK(s.peer == 2);
        }
    });
}

TEST_CASE("processes: killed at any moment of partial calls, a process is left out, or the call fails") {
    const int trials = bough_test::all() ? 200 : 10;
    int went_on = 0;
    over_each_link([&]<class Link>(Link) {
        for (int trial = 0; trial != trials; ++trial) {
            const std::uint64_t dice =
                bough_test::mixed(bough_test::seed() * 9'000 + static_cast<std::uint64_t>(trial));
            const auto p = static_cast<rank_t>(2 + dice % 5);
            const auto victim = static_cast<rank_t>(dice / 8 % p);
            processes group(p, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire), {.timeout_ns = 20'000 * ms}};
                told.phase = 1;
                status s;
                // All have the same results, so they end after the same call.
                std::uint64_t without = 0;
                const std::uint64_t last = clock_ns() + 10'000 * ms;
                while (!s && without != 100) {
                    std::uint64_t sum = 0;
                    s = add(comm, {.within = 1ms}, sum, dice % 3 == 0 ? 5'000 : 3);
                    without = (sum >> victim & 1) != 0 ? 0 : without + 1;
                    if (clock_ns() > last) return told.check(false);
                }
                told.result = s;
                comm = shrink(comm); // all survivors, whether their calls have failed or not
                std::uint64_t sum = 0;
                told.check(!add(comm, {.at_least = p - 1}, sum));
                told.check(comm.size() == p - 1 && sum == (std::uint64_t{1} << (p - 1)) - 1);
                told.phase = 2;
            });
            REQUIRE(group.reached(1));
            std::this_thread::sleep_for(std::chrono::microseconds(dice / 4096 % 4000));
            group.kill(victim, SIGKILL);
            group.wait();
            for (rank_t r = 0; r != p; ++r) {
                if (r == victim) continue;
                const report& told = group.of(r);
                CAPTURE(Link::name, trial, p, victim, r, group.exit_code(r), told.wrong, message_of(told.result));
                CHECK((group.exit_code(r) == 0 && told.wrong == 0 && told.phase == 2));
                CHECK((!told.result || told.result.code == errc::peer_dead || told.result.cause == errc::peer_dead));
                if (victim == 0) CHECK(told.result); // the decider
                went_on += !told.result;
            }
        }
    });
    std::printf("%d ranks called on after a death\n", went_on);
}

TEST_CASE("processes: a process that is stopped is waited for at the bound, and named") {
    over_each_link([&]<class Link>(Link) {
        processes group(3, [&](auto& wire, report& told) {
            communicator comm{Link::join(wire), {.timeout_ns = 1'000 * ms}};
            std::uint64_t sum = 0;
            barrier(comm);
            told.phase = 1;
            if (comm.rank() == 1)
                for (;;) std::this_thread::sleep_for(1s);
            while (told.phase != 2) std::this_thread::yield();
            for (int k = 0; k != 5; ++k) told.check(!add(comm, {.at_least = 2, .behind = 5}, sum) && sum == 5);
            told.result = add(comm, {.at_least = 2, .behind = 5}, sum);
            told.phase = 3;
            while (told.phase != 4) comm.progress();
        });
        REQUIRE(group.reached(1));
        group.kill(1, SIGSTOP);
        for (const rank_t r : {0u, 2u}) group.of(r).phase = 2;
        for (const rank_t r : {0u, 2u}) {
            while (group.of(r).phase != 3) std::this_thread::sleep_for(1ms);
            const report& told = group.of(r);
            CAPTURE(Link::name, r, message_of(told.result));
            CHECK(told.wrong == 0);
            CHECK(is_deadline(told.result));
            CHECK(told.result.peer == 1);
            CHECK(told.result.missing == 1);
        }
        for (const rank_t r : {0u, 2u}) group.of(r).phase = 4;
    });
}
