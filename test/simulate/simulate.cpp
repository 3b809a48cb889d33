// SPDX-License-Identifier: BSL-1.0
// The engines against the walk, against each other, and against times worked by hand.
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/testing/cost_model_archetype.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <map>

namespace {

using namespace test;
using bough::sim_options;
using bough::sim_result;
using bough::simulate;
using bough::simulator;
using bough::step_order;

constexpr bough::model::lrc table2{.message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};

// At compile time, by either engine.
static_assert(simulate(bough::plan_reduce(bough::binomial{}, {.size = 4}), table2).makespan_ns == 9200 + 2 * 4020.0);
static_assert(simulate(bough::plan_reduce(bough::binomial{}, {.size = 4}), table2, {.engine = simulator::discrete})
                  .makespan_ns == 9200 + 2 * 4020.0);
static_assert(simulate(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 7}), table2,
                       {.engine = simulator::discrete, .order = step_order::dependence})
                  .messages == 14);

// Both engines must find what the walk finds, to the last bit.
template <class Plan, class Model>
void check_against_walk(const Plan& plan, const Model& model, std::uint64_t bytes, std::size_t memory = 1 << 20) {
    const auto walked = bough::model::walk(plan, model, bytes);
    const auto times = bough::model::finish_times(plan, model, bytes);
    for (const simulator engine : {simulator::automatic, simulator::discrete}) {
        CAPTURE(engine == simulator::discrete);
        const sim_result found =
            simulate(plan, model, {.bytes = bytes, .engine = engine, .per_rank = true, .memory_bytes = memory});
        REQUIRE(found.deadlock() == walked.deadlock());
        REQUIRE(found.messages == walked.messages);
        REQUIRE(found.bytes == walked.bytes);
        REQUIRE(found.unreceived == walked.unreceived);
        if (found.deadlock()) {
            REQUIRE(found.stuck == walked.stuck);
            REQUIRE(found.stuck_on == walked.stuck_on);
        }
        REQUIRE(found.makespan_ns == walked.makespan_ns);
        REQUIRE(found.last_rank == walked.last_rank);
        REQUIRE(found.root_finish_ns == walked.root_finish_ns);
        double busy = 0;
        for (rank_t r = 0; r != plan.size(); ++r) {
            REQUIRE(found.ranks[r].finish_ns == times[r]);
            REQUIRE(found.ranks[r].wait_ns() >= -1e-6);
            busy += found.ranks[r].busy_ns;
        }
        REQUIRE(found.busy_ns == Approx(busy));
    }
}

} // namespace

TEST_CASE("simulate: plans of every pattern take the time that the walk finds") {
    for (rank_t p = 1; p <= 33; ++p)
        for (rank_t root = 0; root < p; root += 5) {
            CAPTURE(p, root);
            check_against_walk(bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = p, .root = root}), uneven{},
                               37);
            check_against_walk(bough::plan_reduce(bough::ordered{bough::binomial{}}, {.size = p, .root = root}),
                               uneven{}, 37);
            check_against_walk(bough::plan_broadcast(bough::binomial{}, {.size = p, .root = root}), uneven{}, 37);
            check_against_walk(bough::plan_broadcast(bough::chain{}, {.size = p, .root = root, .blocks = 5}), uneven{},
                               37);
            check_against_walk(bough::plan_reduce(bough::flat{}, {.size = p, .root = root, .blocks = 30}), uneven{},
                               37);
            check_against_walk(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}), uneven{}, 37);
            check_against_walk(bough::plan_barrier(bough::dissemination{}, {.size = p}), uneven{}, 0);
        }
}

TEST_CASE("simulate: random plans, with and without lost steps, take the time that the walk finds") {
    std::mt19937 random(20240229);
    std::size_t deadlocks = 0;
    for (int round = 0; round != 3000; ++round) {
        CAPTURE(round);
        const listed_plan plan = random_plan(random, round % 4 == 0, round % 8 == 0 ? 400 : 40);
        check_against_walk(plan, uneven{}, 23, 0);
        deadlocks += simulate(plan, uneven{}, {.bytes = 23}).deadlock();
    }
    CHECK(deadlocks > 10);
    CHECK(deadlocks < 1000);
}

TEST_CASE("simulate: schedules longer than the memory are emitted again") {
    for (const rank_t p : {2u, 3u, 7u}) {
        check_against_walk(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 700}), uneven{}, 2000, 0);
        check_against_walk(bough::plan_reduce(bough::chain{}, {.size = p, .blocks = 700}), uneven{}, 2000, 0);
        check_against_walk(bough::plan_allreduce(bough::tree_allreduce{bough::chain{}}, {.size = p, .blocks = 300}),
                           uneven{}, 2000, 0);
    }
}

TEST_CASE("simulate: ports") {
    for (const bool early : {false, true}) {
        const with_ports model(early);
        for (rank_t p = 1; p <= 17; ++p) {
            CAPTURE(p, early);
            check_against_walk(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}), model, 1024);
            check_against_walk(bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = p}), model, 1024);
            check_against_walk(bough::plan_broadcast(bough::flat{}, {.size = p, .blocks = 3}), model, 1024);
            check_against_walk(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 70}), model, 1024, 0);
        }
        std::mt19937 random(7);
        for (int round = 0; round != 500; ++round) check_against_walk(random_plan(random, false), model, 23, 0);
    }
}

TEST_CASE("simulate: asks nothing but the concept of its model") {
    const bough::testing::cost_model_archetype model(5);
    for (const simulator engine : {simulator::one_pass, simulator::discrete})
        CHECK(simulate(bough::plan_reduce(bough::binomial{}, {.size = 8}), model, {.engine = engine}).makespan_ns ==
              3 * (5 + 1 + 1));
}

// The longest path through steps, dependences and messages: what happens when nothing but the way takes time.
template <class Plan>
double longest_path(const Plan& plan, const only_latency& model, std::uint64_t bytes) {
    const rank_t p = plan.size();
    std::vector<bough::schedule> steps(p);
    std::vector<bough::dependences> waits;
    const auto size_of = [&](const slice& s) {
        std::uint64_t sum = 0;
        for (block_t b = s.first; b != s.last(); ++b)
            sum += bytes / plan.blocks() + (b < bytes % plan.blocks() ? 1 : 0);
        return sum;
    };
    std::map<std::pair<rank_t, rank_t>, std::vector<std::uint32_t>> sends, receives;
    for (rank_t r = 0; r != p; ++r) {
        plan.emit(r, steps[r]);
        waits.push_back(bough::infer_dependences(steps[r].steps));
        for (std::uint32_t i = 0; i != steps[r].size(); ++i) {
            if (steps[r][i].verb == bough::verb::send) sends[{r, steps[r][i].peer}].push_back(i);
            if (steps[r][i].verb == bough::verb::receive) receives[{steps[r][i].peer, r}].push_back(i);
        }
    }
    std::vector<std::vector<double>> at(p);
    for (rank_t r = 0; r != p; ++r) at[r].assign(steps[r].size(), 0);
    double last = 0;
    for (bool moved = true; moved;) { // until nothing is later than thought
        moved = false;
        const auto later = [&](double& time, double than) {
            if (time < than) time = than, moved = true;
            last = std::max(last, than);
        };
        for (rank_t r = 0; r != p; ++r)
            for (std::uint32_t i = 0; i != steps[r].size(); ++i) {
                for (const std::uint32_t before : waits[r].of(i)) later(at[r][i], at[r][before]);
                if (waits[r].channel[i] != bough::no_step) later(at[r][i], at[r][waits[r].channel[i]]);
            }
        for (const auto& [channel, list] : sends)
            for (std::size_t k = 0; k != list.size(); ++k)
                later(at[channel.second][receives[channel][k]],
                      at[channel.first][list[k]] + model.latency_ns(0, 0, size_of(steps[channel.first][list[k]].a)));
    }
    return last;
}

TEST_CASE("simulate: in the order of dependence, where only the way takes time, the longest path counts") {
    const only_latency model{100};
    const auto check = [&](const auto& plan, std::uint64_t bytes) {
        const sim_result found =
            simulate(plan, model, {.bytes = bytes, .engine = simulator::discrete, .order = step_order::dependence});
        REQUIRE_FALSE(found.deadlock());
        REQUIRE(found.unreceived == 0);
        REQUIRE(found.makespan_ns == longest_path(plan, model, bytes));
        bough::step_counts counts;
        for (rank_t r = 0; r != plan.size(); ++r) plan.emit(r, counts);
        REQUIRE(found.events == counts.steps() - counts.parts);
    };
    for (rank_t p = 1; p <= 17; ++p) {
        CAPTURE(p);
        check(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}), 37);
        check(bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = p, .blocks = 3}), 37);
        check(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 6}), 37);
        check(bough::plan_barrier(bough::dissemination{}, {.size = p}), 0);
        check(bough::plan_allreduce(bough::tree_allreduce{bough::binomial{}}, {.size = p, .blocks = 4}), 37);
    }
}

TEST_CASE("simulate: by dependence, a late message does not hold up those after it") {
    // Rank 0 receives from 1 and then from 2, and combines each; rank 1 is late.
    listed_plan plan{.ranks = std::vector<bough::schedule>(3)};
    plan.ranks[1].copy({bough::output, 0, 1}, {bough::output, 0, 1});
    plan.ranks[1].send(0, {bough::output, 0, 1});
    plan.ranks[2].send(0, {bough::output, 0, 1});
    plan.ranks[0].receive(1, {bough::scratch(0), 0, 1});
    plan.ranks[0].combine({bough::scratch(0), 0, 1}, {bough::scratch(0), 0, 1}, {bough::scratch(0), 0, 1});
    plan.ranks[0].receive(2, {bough::scratch(1), 0, 1});
    plan.ranks[0].combine({bough::scratch(1), 0, 1}, {bough::scratch(1), 0, 1}, {bough::scratch(1), 0, 1});
    const bough::model::lrc model{
        .message_latency_ns = 100, .receive = {10}, .combine = {30}, .startup_ns = 0, .copy = {500}};
    CHECK(simulate(plan, model, {.engine = simulator::discrete}).makespan_ns == 500 + 100 + 2 * 40);
    CHECK(simulate(plan, model, {.engine = simulator::discrete, .order = step_order::dependence}).makespan_ns ==
          500 + 100 + 40);
}

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

TEST_CASE("simulate: several operations, with work between") {
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 8});
    const double once = 9200 + 3 * 4020.0;
    for (const simulator engine : {simulator::one_pass, simulator::discrete}) {
        const sim_result run = simulate(plan, table2, {.engine = engine, .operations = 5, .compute_ns = 1000});
        CHECK(run.makespan_ns == 5 * once + 4 * 1000);
        CHECK(run.messages == 5 * 24);
        CHECK(run.busy_ns == Approx(8 * (5 * (9200 + 3 * 1920.0) + 4 * 1000)));
    }
    CHECK(simulate(plan, table2, {.order = step_order::dependence, .operations = 5, .compute_ns = 1000}).makespan_ns ==
          5 * once + 4 * 1000);
}

TEST_CASE("simulate: a quarter of a million ranks take the time of the closed form") {
    constexpr rank_t p = 1u << 18;
    const sim_result reduce = simulate(bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = p}), table2);
    CHECK(reduce.makespan_ns == 9200 + 9 * (2100 + 3 * 1920.0));
    CHECK(reduce.events == 3u * (p - 1));
    const sim_result all = simulate(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 1u << 14}), table2,
                                    {.engine = simulator::discrete});
    CHECK(all.makespan_ns == 9200 + 14 * 4020.0);
    CHECK(all.events == 3u * 14 << 14);
}
