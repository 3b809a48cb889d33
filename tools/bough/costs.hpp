// SPDX-License-Identifier: BSL-1.0
// What messages cost on this machine: timed serial reductions, and the model that fits them.
#ifndef BOUGH_TOOLS_COSTS_HPP
#define BOUGH_TOOLS_COSTS_HPP

#include <bough/measure/serial.hpp>
#include <bough/model/walk.hpp>

#include <string>

namespace cli {

struct measured_costs {
    bough::measurement found{};
    bough::rank_t cores = 1; // that the ranks share

    const bough::model::lrc& model() const { return found.fit.model; }
};

// Serial reductions over 1 .. ranks ranks that are threads. Pre: ranks >= 3.
measured_costs measure_in_process(bough::rank_t ranks, const bough::measure_options& = {});

// How long the model expects a run of the plan to take: a walk. Where ranks share cores, the model was measured so, and
// the waiting for a turn is in its costs already.
template <bough::Plan P>
double predicted_ns(const measured_costs& costs, const P& plan, std::uint64_t bytes, std::uint64_t element_bytes) {
    return bough::model::walk(plan, costs.model(), bytes, element_bytes).makespan_ns;
}

std::string us_text(double ns); // microseconds, with digits that mean something

} // namespace cli

#endif
