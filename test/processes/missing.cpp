// SPDX-License-Identifier: BSL-1.0
// A process stops in the middle of a loop of collectives: every other one names it, those of one communicator in the
// same words.
//   BOUGH_TEST_ALL=1: 300 stops, 75 over each transport
#include "processes/links.hpp"
#include "processes/loop.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::clock_ns;
using bough_test::over_each_link;
using bough_test::processes;
using bough_test::report;

namespace {

constexpr std::uint64_t ms = 1'000'000;

// The i-th call of a loop, the same on every rank.
template <class X>
status random_call(communicator<X>& comm, std::uint64_t dice) {
    const auto count = std::array<std::size_t, 4>{1, 60, 2'000, 30'000}[dice / 8 % 4];
    const auto from = static_cast<rank_t>(dice / 64 % comm.size());
    std::vector<int> x(count * (dice % 6 == 4 ? comm.size() : 1), 1);
    status s;
    switch (dice % 6) {
    case 0: allreduce(comm, std::span(x), plus{}, s); break;
    case 1: broadcast(comm, std::span(x), root{from}, s); break;
    case 2: reduce(comm, std::span(x), plus{}, root{from}, s); break;
    case 3: barrier(comm, s); break;
    case 4: allgather(comm, std::span(x), s); break;
    default: scan(comm, std::span(x), plus{}, s); break;
    }
    return s;
}

struct stop {
    rank_t ranks, victim;
    std::uint64_t seed;
    unsigned after_us;
    std::uint64_t timeout_ms;
};

// One loop, one stop. Returns what was wrong, or nothing.
template <class Link>
std::string stop_one(const stop& what) {
    processes group(what.ranks, [&](auto& wire, report& told) {
        communicator comm{Link::join(wire), {.timeout_ns = what.timeout_ms * ms}};
        // Some calls are those of a second communicator, of the same ranks the other way round.
        auto other = split(comm, 0, comm.size() - comm.rank());
        bough_test::call_until_one_fails(comm, other, told, what.seed,
                                         [](auto& on, std::uint64_t dice) { return random_call(on, dice); });
    });
    if (!group.reached(1)) return "the group was not made";
    std::this_thread::sleep_for(std::chrono::microseconds(what.after_us));
    group.kill(what.victim, SIGSTOP);
    const std::uint64_t last = clock_ns() + 60'000 * ms;
    const auto wait_for = [&](rank_t r) {
        while (group.of(r).phase != 2 && clock_ns() < last) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return group.of(r).phase == 2;
    };
    std::string wrong;
    // Where the victim had sent its part of a call to some ranks only, these wait for it in the next call. That may be
    // one of the other communicator, where the deadline of the first says nothing.
    std::map<std::uint32_t, const report*> first; // by communicator
    for (rank_t r = 0; r != what.ranks; ++r) {
        if (r == what.victim) continue;
        if (!wait_for(r)) return "rank " + std::to_string(r) + " does not end";
        status s = group.of(r).result;
        if (!is_deadline(s) || !names_missing(s) || s.peer != what.victim || s.missing != 1)
            wrong += "rank " + std::to_string(r) + " says: " + message_of(s) + "\n";
        const report& other = *first.try_emplace(s.context, &group.of(r)).first->second;
        if (message_of(s) != message_of(other.result))
            wrong += "rank " + std::to_string(r) + " says: " + message_of(s) +
                     "\nand another: " + message_of(other.result) + "\n";
    }
    group.kill(what.victim, SIGCONT);
    if (!wait_for(what.victim)) return wrong + "the victim does not end";
    const status& late = group.of(what.victim).result;
    // It hears that it came too late; or all that it needed for that call was there, and nobody comes to a
    // later one.
    const bool came_late = late.peer == what.victim && last_call_of(late).absence == absence::late;
    const bool is_alone = late.peer != what.victim && last_call_of(late).absence != absence::late;
    if (!is_deadline(late) || !names_missing(late) || !(came_late || is_alone))
        wrong += "the victim says: " + message_of(late) + "\n";
    for (rank_t r = 0; r != what.ranks; ++r) group.of(r).phase = 3;
    group.wait();
    return wrong;
}

} // namespace

TEST_CASE("processes: a rank that stops is named by every other rank, in one communicator in the same words") {
    const int trials = bough_test::all() ? 75 : 3;
    over_each_link([&]<class Link>(Link) {
        int right = 0;
        for (int trial = 0; trial != trials; ++trial) {
            const std::uint64_t dice =
                bough_test::mixed(bough_test::seed() * 70'000 + static_cast<std::uint64_t>(trial));
            const auto ranks = static_cast<rank_t>(2 + dice % 7);
            const stop what{ranks, static_cast<rank_t>(dice / 8 % ranks), dice,
                            static_cast<unsigned>(dice / 64 % 20'000), 2'000 + dice / 4'096 % 1'000};
            const std::string wrong = stop_one<Link>(what);
            CAPTURE(Link::name, trial, what.ranks, what.victim, what.after_us);
            CHECK(wrong == "");
            right += wrong.empty();
        }
        std::printf("%s: %d of %d stopped ranks were named rightly by all others\n", Link::name, right, trials);
    });
}
