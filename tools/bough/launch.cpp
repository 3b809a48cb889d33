// SPDX-License-Identifier: BSL-1.0
// bough launch: starts a program as the ranks of a job, and tells how they ended.
#include "commands.hpp"
#include "parse.hpp"
#include "traces.hpp"

#ifdef __linux__
#include <bough/launch.hpp>

#include <cmath>
#include <cstdlib>
#include <iostream>

namespace cli {

namespace {

std::uint64_t parse_seconds(const char* argument, const std::string& text) {
    if (text.empty()) return bough::forever;
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0' || !(seconds >= 0 && seconds <= 1e9))
        throw usage_error(argument, "needs a number of seconds, not '" + text + "'");
    return static_cast<std::uint64_t>(seconds * 1e9);
}

} // namespace

int launch(const launch_arguments& typed) {
    constexpr bough::rank_t most_ranks = 4096;
    if (typed.program.empty()) throw usage_error("PROGRAM is required");
    const auto ranks = static_cast<bough::rank_t>(parse_number(typed.ranks_as, typed.ranks, 1, most_ranks));
    const bough::launch_options options{.timeout_ns = parse_seconds("--timeout", typed.timeout),
                                        .grace_ns = parse_seconds("--grace", typed.grace),
                                        .prefix_output = typed.prefix};
    traced_job traced(typed.trace);
    std::error_code ec;
    const bough::launch_report report = bough::launch(ranks, typed.program, options, ec);
    if (ec == bough::errc::invalid_argument)
        throw usage_error("PROGRAM", "'" + typed.program.front() + "' cannot be run");
    if (ec) throw std::system_error(ec, "ranks cannot be started");
    traced.finish();
    if (report.ok()) return 0;
    std::cerr << "bough: " << describe(report) << '\n';
    if (report.timed_out) return 124; // as of timeout(1)
    const bough::rank_end& first = report.ranks[report.first_failed];
    return first.what == bough::rank_end::how::signalled ? 128 + first.code : first.code;
}

} // namespace cli
#else
int cli::launch(const launch_arguments&) { throw usage_error("launch", "needs Linux"); }
#endif
