// SPDX-License-Identifier: BSL-1.0
// The engines against the walk over random plans, with and without lost steps, and with ports.
#include "simulate/against_walk.hpp"
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

using namespace test;

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

TEST_CASE("simulate: rendezvous, beside eager messages and with ports") {
    std::mt19937 random(20261128);
    std::size_t deadlocks = 0, ends = 0;
    for (int round = 0; round != 2000; ++round) {
        CAPTURE(round);
        const listed_plan plan = random_plan(random, round % 4 == 0, round % 8 == 0 ? 200 : 40);
        for (const std::uint64_t limit : {0u, 6u, 12u}) {
            CAPTURE(limit);
            check_against_walk(plan, bough::model::rendezvous{uneven{}, limit}, 23, 0);
            check_against_walk(plan, bough::model::rendezvous{with_ports(round % 2 == 0), limit}, 23, 0);
            // The limit may be the run's as well as the model's.
            const sim_result of_run = simulate(plan, uneven{}, {.bytes = 23, .eager_bytes = limit});
            CHECK(of_run == simulate(plan, bough::model::rendezvous{uneven{}, limit},
                                     {.bytes = 23, .engine = simulator::discrete}));
            (of_run.deadlock() ? deadlocks : ends) += 1;
        }
    }
    CHECK(deadlocks > 100);
    CHECK(ends > 1000);
}
