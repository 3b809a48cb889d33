// SPDX-License-Identifier: BSL-1.0
// bough timeline: draws a simulated run.
#include "timeline.hpp"

#include "any_plan.hpp"
#include "parse.hpp"
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/simulate/export_chrome.hpp>
#include <bough/simulate/export_svg.hpp>
#include <bough/tree/export_text.hpp>

#include <charconv>
#include <cmath>
#include <iostream>
#include <variant>
#include <vector>

namespace cli {

namespace {

using any_model = std::variant<bough::model::loggops, bough::model::alpha_beta_gamma>;

std::vector<double> numbers_of(const std::string& text) {
    std::vector<double> numbers;
    for (const char *at = text.data(), *const end = at + text.size();;) {
        double value = 0;
        const auto [stop, error] = std::from_chars(at, end, value);
        if (error != std::errc{} || !std::isfinite(value) || value < 0 || (stop != end && *stop != ','))
            throw usage_error("--model", "needs costs in ns with commas between: L,o,g,G,O or alpha,beta,gamma; not '" +
                                             text + "'");
        numbers.push_back(value);
        if (stop == end) return numbers;
        at = stop + 1;
    }
}

// The model, and what it is called.
std::pair<any_model, std::string> model_of(const std::string& text) {
    const std::vector<double> n = numbers_of(text);
    const auto name = [](double v) { return bough::detail::short_number(v); };
    if (n.size() == 3)
        return {bough::model::alpha_beta_gamma{.alpha_ns = n[0], .beta_ns_per_byte = n[1], .gamma_ns_per_byte = n[2]},
                "alpha " + name(n[0]) + " ns, beta " + name(n[1]) + " and gamma " + name(n[2]) + " ns/byte"};
    if (n.size() != 5)
        throw usage_error("--model", "needs five costs L,o,g,G,O or three alpha,beta,gamma; not '" + text + "'");
    const bough::model::loggops model{.message_latency_ns = n[0],
                                      .overhead = {n[1], n[4]},
                                      .gap = {n[2], n[3]},
                                      .combine = {0, 0.25},
                                      .copy = {0, 0.1}};
    if (const bough::status bad = model.check()) throw usage_error("--model", bad.argument);
    return {model, "LogGOPS: L " + name(n[0]) + ", o " + name(n[1]) + ", g " + name(n[2]) + " ns, G " + name(n[3]) +
                       ", O " + name(n[4]) + " ns/byte; combine 0.25, copy 0.1 ns/byte"};
}

} // namespace

std::uint64_t bytes_of(const problem& what, const timed_arguments& typed) {
    return one_size_of(what.collective, typed.bytes, "4K");
}

timed_run run_timed(const problem& what, const timed_arguments& typed) {
    check_affordable(what);
    const std::uint64_t bytes = bytes_of(what, typed);
    auto [model, name] = model_of(typed.model);
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
    const problem what = parse_problem(typed.plan, parse_ranks(typed.plan.ranks));
    write_timed(std::cout, run_timed(what, typed.timed), typed.plan.format);
    return 0;
}

} // namespace cli
