// SPDX-License-Identifier: BSL-1.0
// bough measure: what messages cost on this machine.
#include "commands.hpp"
#include "costs.hpp"
#include "costs_transfers.hpp"
#include "json.hpp"
#include "parse.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <thread>

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
                   {{"name", "lrc"},
                    {"message_latency_ns", m.message_latency_ns},
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
            << us_text(bough::model::detail::serial_sample_ns(m, s)) << std::setw(18) << us_text(with.ns)
            << std::setw(9) << us_text(bough::model::detail::serial_sample_ns(m, with)) << '\n';
    }
    out << "\n  C  before the first message   " << us_text(m.startup_ns) << " us\n"
        << "  L  latency of a message       " << us_text(m.message_latency_ns) << " us\n"
        << "  r  to receive a message       " << cost_text(m.receive) << "\n"
        << "  c  to combine it              " << cost_text(m.combine) << "\n"
        << "  the model is off by " << us_text(costs.found.fit.residual_rms_ns) << " us (rms), at most by "
        << us_text(costs.found.fit.residual_max_ns) << " us\n";
    if (ranks > costs.cores) out << "  ranks share cores here: r and L include waiting for one's turn\n";
}

json json_of(const bough::model::alpha_beta_gamma& m) {
    return {{"name", "alpha_beta_gamma"},
            {"alpha_ns", m.alpha_ns},
            {"beta_ns_per_byte", m.beta_ns_per_byte},
            {"gamma_ns_per_byte", m.gamma_ns_per_byte},
            {"f_alpha", m.f_alpha},
            {"f_beta", m.f_beta},
            {"early", m.early},
            {"held_alpha", m.held_alpha},
            {"held_beta", m.held_beta},
            {"send_alpha", m.send_alpha},
            {"send_beta", m.send_beta},
            {"receive_alpha", m.receive_alpha},
            {"receive_beta", m.receive_beta},
            {"combine_start_ns", m.combine_start_ns}};
}

constexpr const char* text_of(bough::model::transfer_kind kind) {
    switch (kind) {
    case bough::model::transfer_kind::one_way: return "one way";
    case bough::model::transfer_kind::exchange: return "exchange";
    case bough::model::transfer_kind::combine: return "combine";
    case bough::model::transfer_kind::burst: return "burst";
    case bough::model::transfer_kind::fan_in: return "fan in";
    case bough::model::transfer_kind::fan_out: return "fan out";
    case bough::model::transfer_kind::exchange_combine: return "exchange and combine";
    }
    return "";
}

json json_of(const bough::transfer_measurement& found, const std::string& transport, unsigned cores) {
    json document{{"transport", transport},
                  {"cores", cores},
                  {"model", json_of(found.fit.model)},
                  {"residual_rms", found.fit.residual_rms},
                  {"residual_max", found.fit.residual_max},
                  {"samples", json::array()}};
    for (const auto& s : found.samples)
        document["samples"].push_back({{"kind", text_of(s.kind)}, {"bytes", s.bytes}, {"ns", s.ns}});
    return document;
}

void print_text(std::ostream& out, const bough::transfer_measurement& found, bough::rank_t ranks, unsigned cores) {
    const bough::model::alpha_beta_gamma& m = found.fit.model;
    out << "Messages between two ranks, in turn and both ways at once, then with combines; in_process: " << ranks
        << " threads on " << cores << (cores == 1 ? " core" : " cores") << ".\n"
        << "Medians in us; op is plus on f64.\n\n"
        << "                        bytes   measured    model\n";
    for (const auto& s : found.samples)
        out << "  " << std::left << std::setw(20) << text_of(s.kind) << std::right << std::setw(8) << size_text(s.bytes)
            << std::setw(10) << us_text(s.ns) << std::setw(9) << us_text(expected_ns(found.fit, s)) << '\n';
    const auto per_kib = [](double ns_per_byte) { return us_text(ns_per_byte * 1024 * 1000) + " ns per KiB"; };
    out << "\n  alpha  a message of an exchange   " << us_text(m.alpha_ns) << " us\n"
        << "  beta   and its bytes              " << per_kib(m.beta_ns_per_byte) << "\n"
        << "  gamma  combined                   " << per_kib(m.gamma_ns_per_byte) << "\n"
        << std::fixed << std::setprecision(2) << "  f_alpha, f_beta: a message of its own costs " << m.f_alpha
        << " alpha and " << m.f_beta << " beta\n"
        << "  held: " << m.held_alpha << " of alpha and " << m.held_beta
        << " of beta keep the next message waiting; the rest is latency\n";
    if (m.send_alpha + m.send_beta != 0)
        out << "  senders are slower than receivers: busy for " << m.send_alpha << " of alpha, " << m.send_beta
            << " of beta\n";
    if (m.receive_alpha + m.receive_beta != 0)
        out << "  receivers are slower than senders: busy for " << m.receive_alpha << " of alpha, " << m.receive_beta
            << " of beta\n";
    out << std::setprecision(0) << "  the model is off by " << 100 * found.fit.residual_rms << " % (rms), at most by "
        << 100 * found.fit.residual_max << " %\n";
    if (found.fit.shares_bounded)
        out << "  messages of their own were slower than exchanges: their share is taken as 1\n";
}

} // namespace

int measure(const measure_arguments& typed) {
    if (typed.heterogeneous) return measure_cluster(typed);
    if (!typed.emulate.empty()) throw usage_error("--emulate", "goes with --heterogeneous");
    check_transport(typed.transport);
    const auto ranks = static_cast<bough::rank_t>(parse_number("--ranks", typed.ranks, 3, most_ranks));
    const auto runs = static_cast<std::uint32_t>(parse_number("--iterations", typed.iterations, 1, 1'000'000));
    if (typed.model == "alpha_beta_gamma") {
        const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
        const bough::transfer_measurement found = measure_transfers_in_process(ranks, {.repetitions = runs});
        if (typed.format == "json")
            print(std::cout, json_of(found, typed.transport, cores));
        else
            print_text(std::cout, found, ranks, cores);
        return 0;
    }
    if (typed.model != "lrc")
        throw usage_error("--model", "there is no '" + typed.model + "' to measure; known are lrc, alpha_beta_gamma");
    const measured_costs costs = measure_in_process(ranks, {.max_ranks = ranks, .repetitions = runs});
    if (typed.format == "json")
        print(std::cout, json_of(costs, typed.transport));
    else
        print_text(std::cout, costs, ranks);
    return 0;
}

} // namespace cli
