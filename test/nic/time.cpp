// SPDX-License-Identifier: BSL-1.0
// The time of simulated NICs against Moody's formula, and against the walk of the plan.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc_formula.hpp>
#include <bough/model/walk.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace bough;
using test::value;

namespace {

// Moody's Quadrics network (Table 2): no op, int32, f64.
model::lrc network(double combine_ns) {
    return {.message_latency_ns = 2100,
            .receive = {420, 0.5},
            .combine = {combine_ns, 0.25},
            .startup_ns = 3000,
            .copy = {}};
}

template <class Plan>
nic::run_result timed(const Plan& plan, const model::lrc& model, nic::assemble_options options = {}) {
    const auto made = nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::simulated>, options);
    REQUIRE(made);
    const auto places = test::places_of(plan, plan.goal(), options.elements);
    test::hosts hosts(places, 1);
    auto run = nic::run_simulated<value>(made.programs, test::bracket_op{}, model, hosts);
    REQUIRE(run.finished);
    return run;
}

bool equal(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

} // namespace

TEST_CASE("full f-nomial trees take the time of the closed formula", "[nic]") {
    std::size_t trees = 0;
    for (const double combine : {0.0, 250.0, 1500.0, 11560.0})
        for (rank_t f = 2; f <= 8; ++f)
            for (rank_t p = 1; p <= 299; p *= f)
                for (const std::uint32_t elements : {1u, 4u}) {
                    const auto model = network(combine);
                    const auto plan = plan_reduce(fnomial{.degree = f}, {.size = p});
                    const auto run = timed(plan, model, {.elements = elements});
                    INFO("f " << f << ", p " << p << ", combine " << combine);
                    CHECK(equal(run.finish_ns[0], model::fnomial_full_ns(model, p, f, elements * sizeof(value))));
                    CHECK(run.combines == p - 1);
                    ++trees;
                }
    CHECK(trees > 150);
}

TEST_CASE("other f-nomial trees are never above the formula, nor the walk", "[nic]") {
    std::size_t below = 0;
    for (const double combine : {250.0, 1500.0, 11560.0})
        for (rank_t f = 2; f <= 8; ++f)
            for (rank_t p = 2; p <= 120; p += 1 + p / 9) {
                const auto model = network(combine);
                const auto plan = plan_reduce(fnomial{.degree = f}, {.size = p});
                const double time = timed(plan, model).finish_ns[0];
                const double walked = model::walk(plan, model, sizeof(value)).root_finish_ns;
                const double formula = model::fnomial_ns(model, p, f, sizeof(value));
                INFO("f " << f << ", p " << p << ", combine " << combine);
                CHECK(time <= formula * (1 + 1e-12));
                CHECK(time <=
                      walked * (1 + 1e-12)); // a NIC receives in the order of arrival, a rank in that of its steps
                if (time < formula * 0.999) ++below;
            }
    CHECK(below != 0);
}

TEST_CASE("an allreduce takes twice a path, by multicast one hop less", "[nic]") {
    const auto model = network(1500);
    const auto tree = plan_allreduce(fnomial{.degree = 4}, {.size = 64});
    const auto reduce = plan_reduce(fnomial{.degree = 4}, {.size = 64});
    const double up = timed(reduce, model).finish_ns[0];
    const auto run = timed(tree, model);
    CHECK(run.makespan_ns > up);
    CHECK(run.makespan_ns <= up + 3 * (2100 + model.message_ns(8)));
    const auto made =
        nic::assemble_all(reduce, test::any_order, nic::capabilities_of<nic::simulated>, {.multicast = true});
    REQUIRE(made);
    const auto places = test::places_of(reduce, goal::allreduce{}, 1);
    test::hosts hosts(places, 1);
    const auto cast = nic::run_simulated<value>(made.programs, test::bracket_op{}, model, hosts);
    CHECK(equal(cast.makespan_ns, up + 2100 + model.receive_ns(0, 1, 8)));
    CHECK(equal(cast.finish_ns[0], up));
}

TEST_CASE("hosts that run ahead keep the NICs busy: banks hide the latency", "[nic]") {
    const auto model = network(250);
    const auto plan = plan_reduce(fnomial{.degree = 2}, {.size = 16});
    const auto time_with = [&](std::uint32_t banks) {
        const auto made =
            nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::simulated>, {.banks = banks});
        const auto places = test::places_of(plan, plan.goal(), 1);
        test::hosts hosts(places, 64);
        const auto run = nic::run_simulated<value>(made.programs, test::bracket_op{}, model, hosts, {.instances = 64});
        REQUIRE(run.finished);
        CHECK(run.overwrites == 0);
        return run.makespan_ns;
    };
    CHECK(time_with(4) < 0.6 * time_with(1));
}
