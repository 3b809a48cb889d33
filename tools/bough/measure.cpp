// SPDX-License-Identifier: BSL-1.0
// bough measure: what messages cost on this machine.
#include "commands.hpp"
#include "costs.hpp"
#include "json.hpp"
#include "parse.hpp"

#include <iomanip>
#include <iostream>

namespace cli {

namespace {

constexpr bough::rank_t most_ranks = 64;

std::string cost_text(const bough::model::cost_per_size& cost) {
    return us_text(cost.base_ns) + " us + " + us_text(cost.per_byte_ns * 1024 * 1000).append(" ns per KiB");
}

json json_of(const bough::model::cost_per_size& cost) {
    return {{"base_ns", cost.base_ns}, {"per_byte_ns", cost.per_byte_ns}};
}

json json_of(const measured_costs& costs, const std::string& transport) {
    const bough::model::lrc& m = costs.model();
    json document{{"transport", transport},
                  {"cores", costs.cores},
                  {"model",
                   {{"message_latency_ns", m.message_latency_ns},
                    {"receive", json_of(m.receive)},
                    {"combine", json_of(m.combine)},
                    {"startup_ns", m.startup_ns}}},
                  {"residual_rms_ns", costs.found.fit.residual_rms_ns},
                  {"residual_max_ns", costs.found.fit.residual_max_ns},
                  {"samples", json::array()}};
    for (const auto& s : costs.found.samples)
        document["samples"].push_back({{"ranks", s.ranks}, {"bytes", s.bytes}, {"with_op", s.with_op}, {"ns", s.ns}});
    return document;
}

void print_text(std::ostream& out, const measured_costs& costs, bough::rank_t ranks) {
    const bough::model::lrc& m = costs.model();
    out << "Serial reductions, some ranks send to rank 0 at once, in_process: " << ranks << " threads on "
        << costs.cores << (costs.cores == 1 ? " core" : " cores") << ".\n"
        << "Medians in us; op is plus on f64.\n\n"
        << "   ranks   bytes   no op: measured    model      op: measured    model\n";
    for (const auto& s : costs.found.samples) {
        if (s.with_op) continue;
        auto with = s;
        for (const auto& other : costs.found.samples)
            if (other.with_op && other.ranks == s.ranks && other.bytes == s.bytes) with = other;
        out << std::setw(8) << s.ranks << std::setw(8) << s.bytes << std::setw(18) << us_text(s.ns) << std::setw(9)
            << us_text(bough::model::detail::serial_ns(m, s)) << std::setw(18) << us_text(with.ns) << std::setw(9)
            << us_text(bough::model::detail::serial_ns(m, with)) << '\n';
    }
    out << "\n  C  before the first message   " << us_text(m.startup_ns) << " us\n"
        << "  L  latency of a message       " << us_text(m.message_latency_ns) << " us\n"
        << "  r  to receive a message       " << cost_text(m.receive) << "\n"
        << "  c  to combine it              " << cost_text(m.combine) << "\n"
        << "  the model is off by " << us_text(costs.found.fit.residual_rms_ns) << " us (rms), at most by "
        << us_text(costs.found.fit.residual_max_ns) << " us\n";
    if (ranks > costs.cores) out << "  ranks share cores here: r and L include waiting for one's turn\n";
}

} // namespace

int measure(const measure_arguments& typed) {
    check_transport(typed.transport);
    const auto ranks = static_cast<bough::rank_t>(parse_number("--ranks", typed.ranks, 3, most_ranks));
    const auto runs = static_cast<std::uint32_t>(parse_number("--iterations", typed.iterations, 1, 1'000'000));
    const measured_costs costs = measure_in_process(ranks, {.max_ranks = ranks, .repetitions = runs});
    if (typed.format == "json")
        print(std::cout, json_of(costs, typed.transport));
    else
        print_text(std::cout, costs, ranks);
    return 0;
}

} // namespace cli
