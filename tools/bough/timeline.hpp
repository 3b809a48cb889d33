// SPDX-License-Identifier: BSL-1.0
// One simulated run of a problem, for pictures and traces.
#ifndef BOUGH_TOOLS_TIMELINE_HPP
#define BOUGH_TOOLS_TIMELINE_HPP

#include "catalogue.hpp"
#include "commands.hpp"
#include <bough/simulate/trace.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>

namespace cli {

struct timed_run {
    bough::sim_trace trace;
    std::string title; // "allreduce by ring over 8 ranks, 64K"
    std::string note;  // the model, and how long it took
};

// --bytes; of a barrier, which moves no data, 0. Throws usage_error.
std::uint64_t bytes_of(const problem&, const timed_arguments&);
// Throws usage_error: a bad model, bytes or skew, a plan that is too large to draw.
timed_run run_timed(const problem&, const timed_arguments&);
// As "svg" or "trace".
void write_timed(std::ostream&, const timed_run&, const std::string& format);

} // namespace cli

#endif
