// SPDX-License-Identifier: BSL-1.0
// bough export: writes a plan for other tools.
#include "any_plan.hpp"
#include "catalogue.hpp"
#include "commands.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "timeline.hpp"
#include <bough/interchange/export_csv.hpp>
#include <bough/interchange/export_dot.hpp>
#include <bough/interchange/export_goal.hpp>
#include <bough/interchange/export_msccl.hpp>

#include <iostream>
#include <sstream>

namespace cli {

namespace {

// What a calc of GOAL costs: the same as in `bough timeline`.
struct calc_costs {
    double start_ns() const { return 0; }
    double send_ns(bough::rank_t, bough::rank_t, std::uint64_t) const { return 0; }
    double latency_ns(bough::rank_t, bough::rank_t, std::uint64_t) const { return 0; }
    double receive_ns(bough::rank_t, bough::rank_t, std::uint64_t) const { return 0; }
    double combine_ns(bough::rank_t, std::uint64_t bytes) const { return 0.25 * static_cast<double>(bytes); }
    double copy_ns(bough::rank_t, std::uint64_t bytes) const { return 0.1 * static_cast<double>(bytes); }
};

} // namespace

int export_plan(const export_arguments& typed) {
    const problem what = parse_plan(typed.plan);
    const std::string& format = typed.plan.format;
    if (typed.annotate && format != "goal") throw usage_error("--annotate", "only GOAL needs it");
    if (typed.annotate && has_neighbours(what.collective))
        throw usage_error("--annotate", "not for a collective with neighbours: 'bough import' does not know them");
    if (format == "svg" || format == "trace") {
        write_timed(std::cout, run_timed(what, typed.timed), format);
        return 0;
    }
    const std::uint64_t bytes = bytes_of(what, typed.timed);
    if (format == "csv") {
        bough::export_csv(std::cout, any_plan(what), {.bytes = bytes});
    } else if (format == "dot") {
        check_affordable(what);
        bough::export_dot(std::cout, any_plan(what));
    } else if (format == "goal") {
        with_plan(what, [&](const auto& plan) {
            bough::export_goal(std::cout, plan, calc_costs{}, {.bytes = bytes, .annotate = typed.annotate});
        });
    } else {
        check_affordable(what);
        std::ostringstream text; // nothing is written of what cannot be written to the end
        const std::string why =
            with_plan(what, [&](const auto& plan) { return bough::export_msccl(text, plan, {.name = text_of(what)}); });
        if (!why.empty()) throw usage_error(why);
        std::cout << text.str();
    }
    return 0;
}

} // namespace cli
