// SPDX-License-Identifier: BSL-1.0
// Programs on hosts: a deadline names the rank whose messages did not come, on all others, and no rank that only waits for it.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace bough;
using bough_test::mixed;

namespace {

using endpoint = simulated::endpoint;
const std::string end = ": the operation did not end by its deadline";

// What becomes of a rank: it enters so many instances, not before that turn, and is polled so often.
struct fate {
    std::uint32_t enters = ~std::uint32_t{0}, polls = ~std::uint32_t{0}, from_turn = 0;
};

// All ranks in one thread and in virtual time.
struct hosts {
    template <class Plan>
    hosts(const Plan& plan, std::uint32_t banks, std::uint64_t seed) : world(plan.size(), {.seed = seed}) {
        auto made = nic::assemble_all(plan, nic::needs_of<plus, double>, nic::capabilities_of<nic::host>,
                                      {.banks = banks, .stream = 7});
        REQUIRE(made);
        for (rank_t r = 0; r != plan.size(); ++r) {
            comms.emplace_back(world.connect(r), communicator_options{.timeout_ns = 1'000'000'000});
            devices.emplace_back(comms.back());
            programs.emplace_back(devices.back(), made.programs[r], plus{});
        }
    }
    // Until all who are polled have ended, and some time longer.
    std::vector<status> run(const std::vector<fate>& fates) {
        std::vector<std::uint32_t> polls(fates.size());
        for (std::uint32_t turn = 0, after = 0; turn != 2000 && after != 3; ++turn) {
            bool ended = true;
            for (rank_t r = 0; r != fates.size(); ++r) {
                auto& mine = programs[r];
                const std::vector<double> one(mine.input_count(), 1);
                for (int i = 0; i != 64 && polls[r] != fates[r].polls; ++i, ++polls[r]) {
                    if (mine.started() < fates[r].enters && turn >= fates[r].from_turn) (void)mine.start(one);
                    mine.poll();
                }
                ended &= mine.error() || polls[r] == fates[r].polls;
            }
            after += ended;
            if (turn < 8 && world.advance()) continue; // some instances end
            world.advance_to(world.now_ns() + 4'000'000);
        }
        std::vector<status> said;
        for (const auto& p : programs) said.push_back(p.error());
        return said;
    }

    simulated world;
    std::deque<communicator<endpoint>> comms;
    std::deque<nic::host_nic<endpoint>> devices;
    std::deque<nic::host_program<double, plus, endpoint>> programs;
};

std::vector<status> outcome(std::uint64_t which, rank_t p, std::uint32_t banks, const std::vector<fate>& fates) {
    const auto of = [&](const auto& plan) { return hosts(plan, banks, which).run(fates); };
    switch (which % 4) {
    case 0: return of(plan_allreduce(fnomial{.degree = 3}, {.size = p}));
    case 1: return of(plan_allreduce(recursive_doubling{}, {.size = p}));
    case 2: return of(plan_allreduce(chain{}, {.size = p}));
    default: return of(plan_barrier(dissemination{}, {.size = p}));
    }
}

} // namespace

TEST_CASE("nic: a rank that stops entering, or does nothing any more, is named by all others", "[nic]") {
    std::set<std::string> how;
    for (std::uint64_t i = 0; i != (bough_test::all() ? 600u : 60u); ++i) {
        const std::uint64_t drawn = mixed(mixed(bough_test::seed()) ^ i);
        const auto p = static_cast<rank_t>(2 + drawn % 7);
        const auto missing = static_cast<rank_t>((drawn >> 8) % p);
        const std::uint32_t banks = (drawn >> 16) % 2 == 0 ? 1 : 2;
        const bool answers = (drawn >> 20) % 2 == 0;
        std::vector<fate> fates(p);
        if (answers)
            fates[missing].enters = static_cast<std::uint32_t>((drawn >> 24) % 3);
        else
            fates[missing].polls = static_cast<std::uint32_t>((drawn >> 24) % 3 == 0 ? 0 : (drawn >> 32) % 300);
        const std::vector<status> said = outcome(drawn >> 48, p, banks, fates);
        CAPTURE(i, p, missing, banks, (drawn >> 48) % 4, fates[missing].enters, fates[missing].polls);
        const status& first = said[missing == 0 ? 1 : 0];
        const std::uint32_t instance = program_instance::unpacked(first.operation).instance;
        const std::string number = std::to_string(instance), who = "rank " + std::to_string(missing);
        const auto call = [](std::uint32_t n) { return "instance " + std::to_string(n) + " of program 7"; };
        const std::string not_come =
            who + " has not come to " + call(instance) +
            (instance == 0 ? " (it has made no call)" : " (its last call was " + call(instance - 1) + ")") + end;
        const std::string silent = who + " is missing in " + call(instance) + " (it does not answer)" + end;
        for (rank_t r = 0; r != p; ++r) {
            if (r == missing) continue;
            CAPTURE(r);
            CHECK((said[r].code == errc::deadline ||
                   (said[r].code == errc::peer_aborted && said[r].cause == errc::deadline)));
            CHECK(message_of(said[r]) == (answers ? not_come : silent));
        }
        how.insert((answers ? "answers " : "is silent ") + number);
        if (answers) {
            CHECK(instance == fates[missing].enters);
            CHECK(message_of(said[missing]) ==
                  "this rank, " + std::to_string(missing) + ", came too late to " + call(instance) + end);
        }
    }
    CHECK(how.size() >= 4);
}

TEST_CASE("nic: two ranks that do not come are named together", "[nic]") {
    for (std::uint64_t which = 0; which != 4; ++which) {
        std::vector<fate> fates(8);
        fates[2].polls = fates[5].polls = 0;
        const std::vector<status> said = outcome(which, 8, 1, fates);
        CAPTURE(which);
        for (const rank_t r : {0u, 1u, 3u, 4u, 6u, 7u})
            CHECK(message_of(said[r]) ==
                  "ranks 2 and 5 are missing in instance 0 of program 7 (rank 2 does not answer)" + end);
    }
}

TEST_CASE("nic: the first whose time is up asks those that have waited for less, one after the other", "[nic]") {
    const auto plan = plan_allreduce(chain{}, {.size = 6});
    std::vector<fate> fates(6, {.from_turn = 100}); // 400 ms of 1 s
    fates[0].from_turn = 0;
    fates[5].polls = 0;
    const std::vector<status> said = hosts(plan, 1, 1).run(fates);
    CHECK(said[0].code == errc::deadline);
    for (rank_t r = 0; r != 5; ++r)
        CHECK(message_of(said[r]) == "rank 5 is missing in instance 0 of program 7 (it does not answer)" + end);
}
