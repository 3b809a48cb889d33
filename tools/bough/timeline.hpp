// SPDX-License-Identifier: BSL-1.0
// One simulated run of a problem, for pictures and traces.
#ifndef BOUGH_TOOLS_TIMELINE_HPP
#define BOUGH_TOOLS_TIMELINE_HPP

#include "catalogue.hpp"
#include "commands.hpp"
#include <bough/simulate/trace.hpp>

#include <iosfwd>
#include <string>

namespace cli {

struct timed_run {
    bough::sim_trace trace;
    std::string title; // "allreduce by ring over 8 ranks, 64K"
    std::string note;  // the model, and how long it took
};

// Throws usage_error: a bad model, bytes or skew, a plan that is too large to draw.
timed_run run_timed(const problem&, const timed_arguments&);
// As "svg" or "trace".
void write_timed(std::ostream&, const timed_run&, const std::string& format);

} // namespace cli

#endif
