// SPDX-License-Identifier: BSL-1.0
#include "simulated/campaign.hpp"

#include "support/catch.hpp"
#include "support/sample.hpp"
#include "support/sanitizers.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

namespace {

using bough::simulated_fault;
using test::rank_t;
using test::sabotage;

constexpr bool slow_build = bough_test::has_address_sanitizer || bough_test::has_thread_sanitizer;

std::uint64_t seeds() { return slow_build ? 10'000 : bough_test::all() ? 1'000'000 : 100'000; }

// Runs `count` seeds from BOUGH_TEST_SEED on; the first that goes wrong is reported so that it comes first next time.
test::outcome campaign(std::uint64_t count, bool faults, sabotage how, std::uint64_t& at) {
    test::outcome sum;
    for (std::uint64_t i = 0; i != count; ++i) {
        at = bough_test::seed() + i;
        const test::outcome one = test::run(test::draw_history(at, faults), how);
        sum.problem = one.problem;
        sum.events += one.events;
        sum.failed += one.failed;
        sum.succeeded += one.succeeded;
        sum.shrunk += one.shrunk;
        if (one.problem != nullptr) break;
    }
    return sum;
}

// Every plan of p ranks, every rank killed, or stopped, at every event, or at one in `one_in` of these moments. Returns
// the first problem.
std::string kill_everywhere(rank_t size, sabotage how, std::uint64_t& runs,
                            simulated_fault::kind what = simulated_fault::kind::crash, std::uint64_t one_in = 1) {
    std::uint64_t number = 0, moment = std::uint64_t{size} << 32;
    std::set<std::pair<std::uint16_t, test::collective>> seen;
    for (const test::bound_plan& plan : test::plans_of(size)) {
        test::history h;
        h.size = size;
        h.world.eager_bytes = ++number % 2 == 0 ? 0 : 256;
        h.seed = h.world.seed = bough_test::mixed(bough_test::seed() + number);
        h.operations.push_back({.plan = &plan, .in_place = true, .count = 2});
        if (plan.kind == test::collective::barrier) h.operations[0].count = 0;
        if (!seen.insert({plan.id(), plan.kind}).second) continue; // equal steps under another name
        if (slow_build && number % 8 != 0) continue;
        const test::outcome whole = test::run(h);
        if (whole.problem != nullptr) return whole.problem;
        for (rank_t victim = 0; victim != size; ++victim)
            for (std::uint64_t k = 0; k <= whole.events; ++k) {
                if (!bough_test::sampled(++moment, one_in)) continue;
                h.faults.assign(1, {.what = what, .at = k, .rank = victim});
                h.may_time_out = what == simulated_fault::kind::stop;
                ++runs;
                if (const char* problem = test::run(h, how).problem)
                    return std::string(problem) + ": " + plan.name + ", rank " + std::to_string(victim) +
                           " gone at event " + std::to_string(k);
            }
        h.faults.clear();
    }
    return {};
}

} // namespace

TEST_CASE("campaign: without faults every result is right") {
    std::uint64_t seed = 0;
    const test::outcome sum = campaign(seeds(), false, sabotage::none, seed);
    INFO("to repeat: BOUGH_TEST_SEED=" << seed);
    CHECK((sum.problem == nullptr ? "" : sum.problem) == std::string());
    CHECK(sum.failed == 0);
    CHECK(sum.succeeded > seeds());
}

TEST_CASE("campaign: with faults every operation ends, nobody is told a wrong answer, survivors go on") {
    std::uint64_t seed = 0;
    const test::outcome sum = campaign(seeds(), true, sabotage::none, seed);
    INFO("to repeat: BOUGH_TEST_SEED=" << seed);
    CHECK((sum.problem == nullptr ? "" : sum.problem) == std::string());
    CHECK(sum.failed > seeds() / 2); // the faults do hit
    CHECK(sum.succeeded > seeds() / 2);
    CHECK(sum.shrunk > seeds() / 4);
}

TEST_CASE("campaign: a rank killed at any event of any plan") {
    std::uint64_t runs = 0;
    for (rank_t size = 2; size <= 8; ++size) {
        INFO(size << " ranks, BOUGH_TEST_SEED=" << bough_test::seed());
        CHECK(kill_everywhere(size, sabotage::none, runs, simulated_fault::kind::crash, size > 3 ? 5 : 1) == "");
    }
    CHECK(runs > (slow_build ? 5'000u : 50'000u) / (bough_test::all() ? 1 : 5));
}

// What it waited for and did not come is in no event: the deadline must find it.
TEST_CASE("campaign: a rank stopped at an event of any plan is named by all others") {
    std::uint64_t runs = 0;
    for (rank_t size = 2; size <= 8; ++size) {
        INFO(size << " ranks, BOUGH_TEST_SEED=" << bough_test::seed());
        const std::uint64_t one_in = size < 4 ? 1 : 3 + 4 * (size - 4);
        CHECK(kill_everywhere(size, sabotage::none, runs, simulated_fault::kind::stop, one_in) == "");
    }
    CHECK(runs > (slow_build ? 500 : 5'000));
}

// A campaign that cannot find a planted bug proves nothing.
TEST_CASE("campaign: planted bugs are found") {
    std::uint64_t seed = 0, runs = 0;
    CHECK(campaign(200, false, sabotage::swap_messages, seed).problem != nullptr);
    CHECK(campaign(200, false, sabotage::corrupt_payload, seed).problem != nullptr);
    CHECK(campaign(200, false, sabotage::forget_completion, seed).problem != nullptr);
    CHECK(campaign(500, true, sabotage::drop_abort, seed).problem != nullptr);
    CHECK(campaign(500, true, sabotage::drop_control, seed).problem != nullptr);
    CHECK(campaign(500, true, sabotage::forget_loss, seed).problem != nullptr);
    CHECK(campaign(500, true, sabotage::corrupt_payload, seed).problem != nullptr);
    CHECK(kill_everywhere(3, sabotage::forget_loss, runs) != "");
    CHECK(kill_everywhere(4, sabotage::drop_abort, runs) != "");
}

TEST_CASE("campaign: a seed repeats to the event") {
    for (std::uint64_t i = 0; i != 200; ++i) {
        const test::history h = test::draw_history(bough_test::seed() + i, true);
        const test::outcome first = test::run(h), second = test::run(h);
        CHECK(first.events == second.events);
        CHECK(first.failed == second.failed);
    }
}
