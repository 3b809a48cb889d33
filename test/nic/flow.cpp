// SPDX-License-Identifier: BSL-1.0
// Hosts that run ahead, messages in any order, duplicates, epochs and counters that wrap: banks and credits must hold.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdint>
#include <vector>

using namespace bough;
using test::value;

namespace {

struct flow {
    nic::run_result run;
    std::uint64_t wrong = 0; // results
};

template <class Plan>
flow run_flow(const Plan& plan, const nic::assemble_options& options, const nic::run_options& how) {
    const auto made = nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::simulated>, options);
    REQUIRE(made);
    const auto places = test::places_of(plan, plan.goal(), options.elements);
    test::hosts hosts(places, how.instances);
    flow f{nic::run_simulated<value>(made.programs, test::bracket_op{}, model::lrc{}, hosts, how), 0};
    const auto steps = test::steps_of(plan);
    for (std::uint32_t u = 0; u != how.instances; ++u) {
        const auto want = test::played(steps, u, options.elements, plan.blocks(), test::bracket_op{});
        for (std::size_t r = 0; r != plan.size(); ++r)
            for (std::size_t i = 0; i != hosts.got[u][r].size(); ++i)
                f.wrong += hosts.got[u][r][i] != want[r][places.result[r] + i] ? 1 : 0;
    }
    return f;
}

} // namespace

TEST_CASE("with credits nothing is overwritten; without them it is", "[nic]") {
    std::uint64_t messages = 0, credits = 0, harm = 0, runs = 0;
    for (std::uint32_t i = 0; i != 300; ++i) {
        const auto pick = [&](std::uint32_t what, std::uint32_t below) {
            return static_cast<std::uint32_t>(bough_test::mixed(bough_test::seed() * 7919 + i * 16 + what) % below);
        };
        const rank_t p = 1 + pick(0, 24), f = 2 + pick(1, 5);
        const nic::assemble_options options{.elements = 1 + pick(2, 2), .banks = 1u << pick(3, 3)};
        const nic::run_options how{.instances = 12,
                                   .shuffle = true,
                                   .seed = i,
                                   .duplicates_percent = pick(4, 2) * 20,
                                   .first_epoch = 0u - pick(5, 10),
                                   .first_turn = 0u - pick(6, 4)};
        const auto plan = plan_reduce(fnomial{.degree = f}, {.size = p, .root = pick(7, p)});
        INFO("case " << i << ": p " << p << ", f " << f << ", banks " << options.banks);
        const flow with = run_flow(plan, options, how);
        CHECK(with.run.finished);
        CHECK(with.run.overwrites == 0);
        CHECK(with.run.overruns == 0);
        CHECK(with.wrong == 0);
        if (how.duplicates_percent != 0 && p > 1) CHECK(with.run.duplicates != 0);
        messages += with.run.messages;
        credits += with.run.credits;
        nic::assemble_options without = options;
        without.credits = false;
        const flow broken = run_flow(plan, without, how);
        harm += broken.run.overwrites + broken.run.overruns;
        ++runs;
    }
    CHECK(messages > 10'000);
    CHECK(credits == messages); // in a reduction, one for each
    CHECK(harm > runs);
}

TEST_CASE("epochs and counters wrap", "[nic]") {
    for (const std::uint32_t banks : {1u, 2u, 4u, 8u})
        for (std::uint32_t back = 0; back != 9; ++back) {
            const nic::run_options how{.instances = 20,
                                       .shuffle = true,
                                       .seed = back,
                                       .duplicates_percent = 10,
                                       .first_epoch = 0u - back * 2,
                                       .first_turn = 0u - back / 2};
            INFO("banks " << banks << ", back " << back);
            const flow tree = run_flow(plan_reduce(fnomial{.degree = 4}, {.size = 13}), {.banks = banks}, how);
            CHECK((tree.run.finished && tree.run.overruns == 0 && tree.run.overwrites == 0 && tree.wrong == 0));
            const flow doubling = run_flow(plan_allreduce(recursive_doubling{}, {.size = 6}), {.banks = banks}, how);
            CHECK((doubling.run.finished && doubling.run.overruns == 0 && doubling.wrong == 0));
            const flow circle = run_flow(plan_allreduce(ring{}, {.size = 5}), {.elements = 5, .banks = banks}, how);
            CHECK((circle.run.finished && circle.run.overruns == 0 && circle.wrong == 0));
        }
}

TEST_CASE("an allreduce by multicast, with free-running hosts", "[nic]") {
    for (rank_t p = 1; p <= 20; ++p) {
        const auto plan = plan_reduce(fnomial{.degree = 3}, {.size = p, .root = p / 2});
        const auto made = nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::simulated>,
                                            {.elements = 3, .banks = 2, .multicast = true});
        REQUIRE(made);
        const auto places = test::places_of(plan, goal::allreduce{}, 3);
        test::hosts hosts(places, 8);
        const auto run = nic::run_simulated<value>(made.programs, test::bracket_op{}, model::lrc{}, hosts,
                                                   {.instances = 8, .shuffle = true, .seed = p});
        CHECK((run.finished && run.overruns == 0 && run.overwrites == 0 && run.credits == 0));
        CHECK(run.messages == 8 * 2 * (p - 1));
        for (std::uint32_t u = 0; u != 8; ++u) {
            const auto want = test::played(test::steps_of(plan), u, 3, 1, test::bracket_op{});
            for (rank_t r = 0; r != p; ++r) CHECK(hosts.got[u][r] == want[plan.root()]);
        }
    }
}

TEST_CASE("accumulating gives an exact op's result, in fewer steps", "[nic]") {
    for (rank_t p = 1; p <= 20; ++p) {
        const auto plan = plan_allreduce(fnomial{.degree = 5}, {.size = p});
        const nic::needs sum = nic::needs_of<plus, value>;
        const auto apart = nic::assemble_all(plan, sum, nic::capabilities_of<nic::simulated>, {.elements = 2});
        const auto made = nic::assemble_all(plan, sum, nic::capabilities_of<nic::simulated>,
                                            {.elements = 2, .banks = 4, .accumulate = true});
        REQUIRE(made);
        const auto places = test::places_of(plan, plan.goal(), 2);
        test::hosts hosts(places, 9);
        const auto run =
            nic::run_simulated<value>(made.programs, plus{}, model::lrc{}, hosts,
                                      {.instances = 9, .shuffle = true, .seed = p, .duplicates_percent = 20});
        CHECK((run.finished && run.overruns == 0 && run.overwrites == 0));
        for (std::uint32_t u = 0; u != 9; ++u)
            for (rank_t r = 0; r != p; ++r)
                CHECK(hosts.got[u][r] == test::played(test::steps_of(plan), u, 2, 1, plus{})[r]);
        if (p > 2) CHECK(made.programs[0].head.steps < apart.programs[0].head.steps);
        CHECK(made.programs[0].head.elements <= apart.programs[0].head.elements);
    }
}
