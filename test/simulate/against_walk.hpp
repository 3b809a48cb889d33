// SPDX-License-Identifier: BSL-1.0
// check_against_walk: both engines must find what the walk finds.
#ifndef BOUGH_TEST_SIMULATE_AGAINST_WALK_HPP
#define BOUGH_TEST_SIMULATE_AGAINST_WALK_HPP

#include "support/catch.hpp"
#include <bough/model/walk.hpp>
#include <bough/simulate/simulate.hpp>

#include <cstddef>
#include <cstdint>

namespace test {

// To the last bit.
template <class Plan, class Model>
void check_against_walk(const Plan& plan, const Model& model, std::uint64_t bytes, std::size_t memory = 1 << 20) {
    const auto walked = bough::model::walk(plan, model, bytes);
    const auto times = bough::model::finish_times(plan, model, bytes);
    for (const bough::simulator engine : {bough::simulator::automatic, bough::simulator::discrete}) {
        CAPTURE(engine == bough::simulator::discrete);
        const bough::sim_result found =
            bough::simulate(plan, model, {.bytes = bytes, .engine = engine, .per_rank = true, .memory_bytes = memory});
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
        for (bough::rank_t r = 0; r != plan.size(); ++r) {
            REQUIRE(found.ranks[r].finish_ns == times[r]);
            REQUIRE(found.ranks[r].wait_ns() >= -1e-6);
            busy += found.ranks[r].busy_ns;
        }
        REQUIRE(found.busy_ns == Approx(busy));
    }
}

} // namespace test

#endif
