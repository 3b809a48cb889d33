// SPDX-License-Identifier: BSL-1.0
// The times of model::arriving: both engines begin each rank at its time, as the walk does.
#include "simulate/against_walk.hpp"
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/simulate/trace.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdint>
#include <vector>

namespace {

using namespace test;
using bough::noise;
using bough::model::arriving;

// Times between 0 and 400 ns, all over the ranks.
std::vector<std::uint64_t> spread(rank_t size) {
    std::vector<std::uint64_t> at;
    for (std::uint64_t r = 0; r != size; ++r) at.push_back(r * 37 % size * 400 / size);
    return at;
}

constexpr bough::model::lrc nic{
    .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200, .copy = {}};

} // namespace

TEST_CASE("arriving: simulate finds the times that the walk finds") {
    for (rank_t p = 1; p <= 17; ++p) {
        CAPTURE(p);
        const std::vector<std::uint64_t> at = spread(p);
        const arriving model{uneven{}, at};
        check_against_walk(bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = p}), model, 37);
        check_against_walk(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 5}), model, 37);
        check_against_walk(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}), model, 37);
    }
}

TEST_CASE("arriving: under a model with ports, too") {
    for (const bool early : {false, true}) {
        const std::vector<std::uint64_t> at = spread(13);
        const arriving model{with_ports{early}, at};
        const auto plan = bough::plan_reduce(bough::binomial{}, {.size = 13});
        const std::vector<double> walked = bough::model::finish_times(plan, model, 8);
        const sim_result found = simulate(plan, model, {.per_rank = true});
        for (rank_t r = 0; r != 13; ++r) CHECK(found.ranks[r].finish_ns == walked[r]);
    }
}

TEST_CASE("arriving: is the same as noise that gives the times, in every order of steps") {
    const std::vector<std::uint64_t> at{0, 20'000, 300, 0, 45'000, 7, 0};
    const auto plan = bough::plan_reduce(bough::binomial{}, {.size = 7});
    for (const step_order order : {step_order::program, step_order::dependence})
        for (const simulator engine : {simulator::automatic, simulator::discrete}) {
            sim_options options{.engine = engine, .order = order, .per_rank = true};
            const sim_result by_model = simulate(plan, arriving{nic, at}, options);
            options.noise.arrival = {.how = noise::coming::given, .at_ns = {at.begin(), at.end()}};
            const sim_result by_noise = simulate(plan, nic, options);
            CHECK(by_model == by_noise);
            CHECK(by_model.last_arrival_ns == 45'000);
            CHECK(by_model.ranks[1].arrival_ns == 20'000);
        }
}

TEST_CASE("arriving: noise comes on top of the times of the model") {
    const std::vector<std::uint64_t> at{0, 100, 0}, delays{5, 7, 1000}, sums{5, 107, 1000};
    const auto plan = bough::plan_broadcast(bough::chain{}, {.size = 3});
    for (const simulator engine : {simulator::one_pass, simulator::discrete}) {
        sim_options options{.engine = engine, .operations = 3, .compute_ns = 50, .per_rank = true};
        const sim_result summed = simulate(plan, arriving{nic, sums}, options);
        options.noise.arrival = {.how = noise::coming::given, .at_ns = {delays.begin(), delays.end()}};
        CHECK(simulate(plan, arriving{nic, at}, options) == summed);
    }
}

TEST_CASE("arriving: a trace shows when each rank came") {
    const std::vector<std::uint64_t> at{0, 20'000, 300};
    const auto plan = bough::plan_reduce(bough::chain{}, {.size = 3});
    for (const simulator engine : {simulator::one_pass, simulator::discrete}) {
        const bough::sim_trace run = bough::trace(plan, arriving{nic, at}, {.engine = engine});
        CHECK(run.arrival_ns == std::vector<double>{0, 20'000, 300});
        CHECK(run.result == simulate(plan, arriving{nic, at}, {.engine = engine}));
    }
}
