// SPDX-License-Identifier: BSL-1.0
// What holds ranks up, or does not: slots, rendezvous, split phase; against times worked by hand.
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/binomial.hpp>

using namespace test;

TEST_CASE("simulate: slots hold the sender back") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
    for (int i = 0; i != 3; ++i) plan.ranks[0].send(1, {bough::output, 0, 1});
    plan.ranks[1].copy({bough::output, 0, 1}, {bough::output, 0, 1});
    for (int i = 0; i != 3; ++i) plan.ranks[1].receive(0, {bough::output, 0, 1});
    const bough::model::lrc model{.message_latency_ns = 100, .receive = {10}, .startup_ns = 0, .copy = {500}};
    for (const step_order order : {step_order::program, step_order::dependence}) {
        CHECK(simulate(plan, model, {.engine = simulator::discrete, .order = order, .slots = 0}).makespan_ns == 530);
        // The first is received at 500, its credit is back at 600, the second there at 700; its credit at 800.
        const sim_result one =
            simulate(plan, model, {.engine = simulator::discrete, .order = order, .slots = 1, .per_rank = true});
        CHECK(one.ranks[0].finish_ns == 800);
        CHECK(one.makespan_ns == 910);
        // Two are received at 500 and 510; the third leaves at 600.
        const sim_result two =
            simulate(plan, model, {.engine = simulator::discrete, .order = order, .slots = 2, .per_rank = true});
        CHECK(two.ranks[0].finish_ns == 600);
        CHECK(two.makespan_ns == 710);
    }
}

TEST_CASE("simulate: a rendezvous waits for its receive, and the sender for its end") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
    plan.ranks[0].send(1, {bough::output, 0, 1});
    plan.ranks[1].copy({bough::scratch(1), 0, 1}, {bough::scratch(0), 0, 1});
    plan.ranks[1].receive(0, {bough::output, 0, 1});
    bough::model::lrc model{.message_latency_ns = 100, .receive = {10}, .startup_ns = 0, .copy = {500}};
    const auto run = [&](std::uint64_t eager, step_order order) {
        return simulate(plan, model, {.order = order, .eager_bytes = eager, .per_rank = true});
    };
    CHECK(run(8, step_order::program).makespan_ns == 510);
    CHECK(run(8, step_order::program).ranks[0].finish_ns == 0);
    // The receive is posted at 500, its answer there at 600, the message there at 700.
    CHECK(run(7, step_order::program).makespan_ns == 710);
    CHECK(run(7, step_order::program).ranks[0].finish_ns == 700);
    // By dependence the receive does not wait for the copy: notice 100, answer 200, message 300; but then the rank copies.
    CHECK(run(7, step_order::dependence).ranks[0].finish_ns == 300);
    CHECK(run(7, step_order::dependence).makespan_ns == 510);
    model.copy = {50};
    CHECK(run(7, step_order::program).makespan_ns == 310); // the notice at 100 is the last to come
}

TEST_CASE("simulate: a rank whose rendezvous arrives while it still works ends when its work does, once") {
    // Rank 0 sends to rank 1, and then combines for longer than the message takes.
    listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
    plan.ranks[0].send(1, {bough::output, 0, 1});
    plan.ranks[0].combine({bough::output, 0, 1}, {bough::output, 0, 1}, {bough::output, 0, 1});
    plan.ranks[1].receive(0, {bough::output, 0, 1});
    const bough::model::rendezvous model{
        bough::model::lrc{.message_latency_ns = 100, .receive = {10}, .combine = {1000}, .startup_ns = 0}};
    for (const simulator engine : {simulator::one_pass, simulator::discrete}) {
        const sim_result run = simulate(plan, model, {.engine = engine, .operations = 3, .per_rank = true});
        CHECK(run.ranks[0].finish_ns == 3000);
        CHECK(run.ranks[1].finish_ns == 2310); // from 2000 on: notice, answer, message
        CHECK(run.messages == 3);
        CHECK(run.busy_ns == 3 * 1010);
    }
}

TEST_CASE("simulate: in program order messages set out in the order of sends, by dependence when they are answered") {
    // Rank 1 copies before it takes the first; rank 2 waits for the second.
    listed_plan plan{.ranks = std::vector<bough::schedule>(3)};
    plan.ranks[0].send(1, {bough::output, 0, 1});
    plan.ranks[0].send(2, {bough::output, 0, 1});
    plan.ranks[1].copy({bough::output, 0, 1}, {bough::output, 0, 1});
    plan.ranks[1].receive(0, {bough::output, 0, 1});
    plan.ranks[2].receive(0, {bough::output, 0, 1});
    const bough::model::lrc model{.message_latency_ns = 100, .receive = {10}, .startup_ns = 0, .copy = {500}};
    const auto finish_of_2 = [&](step_order order) {
        return simulate(plan, model, {.order = order, .eager_bytes = 0, .per_rank = true}).ranks[2].finish_ns;
    };
    CHECK(finish_of_2(step_order::program) == 710);
    CHECK(finish_of_2(step_order::dependence) == 310);
}

TEST_CASE("simulate: split phase: a rank that would wait is away, and takes in what came when it polls") {
    // Rank 1 takes in rank 2, which is late, and sends to the root 0.
    listed_plan plan{.ranks = std::vector<bough::schedule>(3)};
    plan.ranks[2].send(1, {bough::output, 0, 1});
    plan.ranks[1].receive(2, {bough::scratch(0), 0, 1});
    plan.ranks[1].combine({bough::scratch(0), 0, 1}, {bough::input, 0, 1}, {bough::scratch(0), 0, 1});
    plan.ranks[1].send(0, {bough::scratch(0), 0, 1});
    plan.ranks[0].receive(1, {bough::output, 0, 1});
    const bough::model::lrc model{.message_latency_ns = 100, .receive = {10}, .combine = {30}, .startup_ns = 0};
    const auto run = [&](step_order order, bough::split_phase split) {
        sim_options options{.order = order, .split = split, .per_rank = true};
        options.noise.arrival = {.how = bough::noise::coming::given, .at_ns = {0, 50, 1000}};
        return simulate(plan, model, options);
    };
    for (const step_order order : {step_order::program, step_order::dependence}) {
        const sim_result blocking = run(order, {});
        CHECK(blocking.makespan_ns == 1000 + 100 + 40 + 100 + 10);
        CHECK(blocking.ranks[1].wait_ns() == 1050);
        CHECK(blocking.away_ns == 0);
        // The message interrupts rank 1 at 1100, for 7; the root waits as before.
        const sim_result told = run(order, {.on = true, .poll_cost_ns = 7});
        CHECK(told.makespan_ns == blocking.makespan_ns + 7);
        CHECK(told.ranks[1].away_ns == 1050);
        CHECK(told.ranks[1].wait_ns() == 0);
        CHECK(told.ranks[1].busy_ns == 47);
        CHECK(told.ranks[0].away_ns == 0);
        CHECK(told.ranks[0].wait_ns() == blocking.ranks[0].wait_ns() + 7);
        // It polls at 50 + 400 k: at 1250, 150 after the message.
        const sim_result polled = run(order, {.on = true, .poll_ns = 400});
        CHECK(polled.makespan_ns == blocking.makespan_ns + 150);
        CHECK(polled.ranks[1].away_ns == 1200);
        CHECK(polled.ranks[1].wait_ns() == 0);
        const sim_result all = run(order, {.on = true, .root_too = true});
        CHECK(all.wait_ns == 0);
        CHECK(all.makespan_ns == blocking.makespan_ns);
    }
}

TEST_CASE("simulate: split phase loses less time under skew, and the more so the more ranks there are") {
    const bough::model::lrc model{.message_latency_ns = 7000, .receive = {1500}, .combine = {200}, .startup_ns = 1500};
    double before = 0;
    for (const rank_t p : {2u, 4u, 8u, 16u, 32u}) {
        const auto plan = bough::plan_reduce(bough::binomial{}, {.size = p});
        const auto lost = [&](bool split) {
            sim_options options{.order = step_order::dependence, .split = {.on = split, .poll_cost_ns = 5000}};
            options.noise.arrival = {.how = bough::noise::coming::uniform, .scale_ns = 1e6};
            double sum = 0;
            for (options.noise.seed = 1; options.noise.seed != 200; ++options.noise.seed) {
                const sim_result r = simulate(plan, model, options);
                REQUIRE(r.messages == p - 1);
                sum += r.busy_ns + r.wait_ns;
            }
            return sum;
        };
        const double factor = lost(false) / lost(true);
        CHECK(factor > before);
        before = factor;
    }
    CHECK(before > 4);
}
