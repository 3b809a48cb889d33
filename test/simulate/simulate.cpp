// SPDX-License-Identifier: BSL-1.0
// The engines against the walk over every pattern, and against closed forms.
#include "simulate/against_walk.hpp"
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/testing/cost_model_archetype.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

using namespace test;

namespace {

constexpr bough::model::lrc table2{.message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};

// At compile time, by either engine.
static_assert(simulate(bough::plan_reduce(bough::binomial{}, {.size = 4}), table2).makespan_ns == 9200 + 2 * 4020.0);
static_assert(simulate(bough::plan_reduce(bough::binomial{}, {.size = 4}), table2, {.engine = simulator::discrete})
                  .makespan_ns == 9200 + 2 * 4020.0);
static_assert(simulate(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 7}), table2,
                       {.engine = simulator::discrete, .order = step_order::dependence})
                  .messages == 14);

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

TEST_CASE("simulate: schedules longer than the memory are emitted again") {
    for (const rank_t p : {2u, 3u, 7u}) {
        check_against_walk(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 700}), uneven{}, 2000, 0);
        check_against_walk(bough::plan_reduce(bough::chain{}, {.size = p, .blocks = 700}), uneven{}, 2000, 0);
        check_against_walk(bough::plan_allreduce(bough::tree_allreduce{bough::chain{}}, {.size = p, .blocks = 300}),
                           uneven{}, 2000, 0);
    }
}

TEST_CASE("simulate: asks nothing but the concept of its model") {
    const bough::testing::cost_model_archetype model(5);
    for (const simulator engine : {simulator::one_pass, simulator::discrete})
        CHECK(simulate(bough::plan_reduce(bough::binomial{}, {.size = 8}), model, {.engine = engine}).makespan_ns ==
              3 * (5 + 1 + 1));
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

TEST_CASE("simulate: a million ranks take the time of the closed form") {
    constexpr rank_t p = 1u << 20;
    const sim_result reduce = simulate(bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = p}), table2);
    CHECK(reduce.makespan_ns == 9200 + 10 * (2100 + 3 * 1920.0));
    CHECK(reduce.events == 3u * (p - 1));
    const sim_result all = simulate(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 1u << 14}), table2,
                                    {.engine = simulator::discrete});
    CHECK(all.makespan_ns == 9200 + 14 * 4020.0);
    CHECK(all.events == 3u * 14 << 14);
}
