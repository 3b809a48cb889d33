// SPDX-License-Identifier: BSL-1.0
// bough timeline: draws a simulated run.
#include "timeline.hpp"

#include "any_plan.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "timed_model.hpp"
#include <bough/select/print_decision.hpp>
#include <bough/simulate/export_chrome.hpp>
#include <bough/simulate/export_svg.hpp>

#include <iostream>
#include <stdexcept>
#include <variant>

namespace cli {

std::uint64_t bytes_of(const problem& what, const timed_arguments& typed) {
    return one_size_of(what.collective, typed.bytes, "4K");
}

timed_run run_timed(const problem& what, const timed_arguments& typed) {
    check_affordable(what);
    const std::uint64_t bytes = bytes_of(what, typed);
    auto [model, name] = parse_timed_model(typed.model);
    bough::sim_options options{.bytes = bytes};
    options.noise.seed = parse_number("--seed", typed.seed, 0, ~std::uint64_t{0});
    const std::uint64_t skew_ns = parse_number("--skew", typed.skew, 0, std::uint64_t{1} << 40);
    if (skew_ns != 0) {
        options.noise.arrival = {bough::noise::coming::uniform, static_cast<double>(skew_ns), {}};
        name += "; ranks come within " + bough::time_text(static_cast<double>(skew_ns));
    }
    const any_plan plan(what);
    timed_run run;
    run.trace = std::visit([&](const auto& m) { return bough::trace(plan, m, options); }, model);
    if (run.trace.result.deadlock()) throw std::runtime_error("the plan deadlocks"); // never: plans are proved
    run.title = std::string(name_of(what.collective)) + " by " + text_of(what.algorithm) + " over " +
                std::to_string(what.at.size) + (what.at.size == 1 ? " rank, " : " ranks, ") + size_text(bytes) +
                " bytes";
    run.note = name + "  ·  simulated: " + bough::time_text(run.trace.result.makespan_ns) + ", " +
               std::to_string(run.trace.result.messages) + " messages";
    return run;
}

void write_timed(std::ostream& out, const timed_run& run, const std::string& format) {
    if (format == "trace")
        bough::export_chrome(out, run.trace, run.title);
    else
        bough::export_svg(out, run.trace, {.title = run.title, .note = run.note});
}

int timeline(const timeline_arguments& typed) {
    const problem what = parse_plan(typed.plan);
    write_timed(std::cout, run_timed(what, typed.timed), typed.plan.format);
    return 0;
}

} // namespace cli
