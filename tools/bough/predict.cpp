// SPDX-License-Identifier: BSL-1.0
// bough predict rdma: what collectives over remote writes take, by the equations of Gupta et al., and which k and block they
// recommend; for the paper's network, for parameters that are typed, or for this machine's, which are measured.
#include "commands.hpp"
#include "json.hpp"
#include "parse.hpp"
#include "remote_links.hpp"
#include <bough/error.hpp>
#include <bough/model/rdma_formula.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace cli {

namespace {

using bough::model::rdma;
using bough::model::rdma_case;

constexpr std::array<std::pair<const char*, double rdma::*>, 8> parameters{{
    {"mpi_ns", &rdma::mpi_ns},
    {"descriptor_ns", &rdma::descriptor_ns},
    {"dma_startup_ns", &rdma::dma_startup_ns},
    {"nic_ns", &rdma::nic_ns},
    {"transmit_ns_per_byte", &rdma::transmit_ns_per_byte},
    {"operation_ns_per_byte", &rdma::operation_ns_per_byte},
    {"copy_ns_per_byte", &rdma::copy_ns_per_byte},
    {"acknowledgement_ns", &rdma::acknowledgement_ns},
}};
constexpr std::array<const char*, 8> symbols{"Tm", "Td", "Ts", "Tn", "Tt", "To", "Tc", "Ta"};

// `Tm,Td,Ts,Tn,Tt,To,Tc,Ta`, in ns and ns per byte.
rdma parse_parameters(const std::string& text) {
    rdma m;
    std::istringstream in(text);
    std::string item;
    std::size_t i = 0;
    for (; std::getline(in, item, ','); ++i) {
        double value = 0;
        const auto [stop, error] = std::from_chars(item.data(), item.data() + item.size(), value);
        if (i == parameters.size() || error != std::errc{} || stop != item.data() + item.size() ||
            !std::isfinite(value) || value < 0)
            break;
        m.*parameters[i].second = value;
    }
    if (i != parameters.size() || !in.eof())
        throw usage_error("--parameters", "needs eight costs, Tm,Td,Ts,Tn in ns and Tt,To,Tc in ns per byte, Ta in "
                                          "ns, not '" +
                                              text + "'");
    return m;
}

struct row {
    bough::rank_t ranks;
    std::uint64_t bytes;
    std::array<bough::rank_t, 3> k; // best case, middle, worst case
    double reduce_best_ns, reduce_worst_ns;
    double broadcast_ns;
    std::uint64_t block;
};

row row_of(const rdma& m, bough::rank_t ranks, std::uint64_t bytes, const std::vector<std::uint64_t>& blocks) {
    row r{ranks, bytes, {}, 0, 0, 0, bough::model::best_block(m, ranks, bytes, blocks)};
    constexpr std::array cases{rdma_case::best, rdma_case::middle, rdma_case::worst};
    for (std::size_t i = 0; i != cases.size(); ++i) r.k[i] = best_degree(m, ranks, bytes, cases[i]);
    r.reduce_best_ns = degree_k_reduce_ns(m, ranks, r.k[1], bytes, rdma_case::best);
    r.reduce_worst_ns = degree_k_reduce_ns(m, ranks, r.k[1], bytes, rdma_case::worst);
    r.broadcast_ns = broadcast_ns(m, ranks, bytes, r.block);
    return r;
}

// What they take by messages, of `bytes` over `of` ranks.
struct by_messages {
    bough::rank_t of;
    std::uint64_t bytes;
    double broadcast_ns, allreduce_ns;
};
// `RANKS:BYTES:BROADCAST:ALLREDUCE,...`, us.
std::vector<by_messages> parse_messages(const std::string& text) {
    constexpr const char* option = "--messages";
    const auto microseconds = [&](const std::string& typed) {
        double value = 0;
        const auto [stop, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
        if (error != std::errc{} || stop != typed.data() + typed.size() || !std::isfinite(value) || value <= 0)
            throw usage_error(option, "needs a time in us above 0, not '" + typed + "'");
        return value * 1000;
    };
    std::vector<by_messages> known;
    std::istringstream items(text);
    for (std::string item; std::getline(items, item, ',');) {
        std::vector<std::string> parts;
        std::istringstream in(item);
        for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
        if (parts.size() != 4) throw usage_error(option, "needs RANKS:BYTES:BROADCAST:ALLREDUCE, not '" + item + "'");
        const auto of = static_cast<bough::rank_t>(parse_number(option, parts[0], 2, bough::no_rank - 1));
        for (const std::uint64_t bytes : parse_sizes(option, parts[1]))
            known.push_back({of, bytes, microseconds(parts[2]), microseconds(parts[3])});
    }
    return known;
}

// Beside it, by writes, the allreduce of the k of the middle.
struct saving {
    row writes;
    double broadcast_ns, allreduce_ns; // by messages
    double best_ns, worst_ns;          // the allreduce by writes
    double of_broadcast, of_best, of_worst;
};
saving saving_of(const rdma& m, bough::rank_t ranks, const by_messages& known,
                 const std::vector<std::uint64_t>& blocks) {
    using namespace bough::model;
    saving s{};
    s.writes = row_of(m, ranks, known.bytes, blocks);
    s.broadcast_ns = extrapolated_ns(known.broadcast_ns, known.of, ranks);
    s.allreduce_ns = extrapolated_ns(known.allreduce_ns, known.of, ranks);
    const auto allreduce = [&](rdma_case which) {
        return allreduce_ns(m, ranks, s.writes.k[1], known.bytes, s.writes.block, which);
    };
    s.best_ns = allreduce(rdma_case::best);
    s.worst_ns = allreduce(rdma_case::worst);
    if (ranks == 1) return s; // nothing to save
    s.of_broadcast = benefit(s.writes.broadcast_ns, s.broadcast_ns);
    s.of_best = benefit(s.best_ns, s.allreduce_ns);
    s.of_worst = benefit(s.worst_ns, s.allreduce_ns);
    return s;
}
json json_of(const saving& s) {
    return {{"ranks", s.writes.ranks},
            {"bytes", s.writes.bytes},
            {"k", s.writes.k[1]},
            {"block_bytes", s.writes.block},
            {"broadcast_messages_ns", s.broadcast_ns},
            {"broadcast_writes_ns", s.writes.broadcast_ns},
            {"broadcast_benefit", s.of_broadcast},
            {"allreduce_messages_ns", s.allreduce_ns},
            {"allreduce_writes_best_ns", s.best_ns},
            {"allreduce_writes_worst_ns", s.worst_ns},
            {"allreduce_benefit_best", s.of_best},
            {"allreduce_benefit_worst", s.of_worst}};
}
void print(const saving& s) {
    // Two spaces at least keep it from what stands before it.
    const auto cell = [](int width, double value, const char* unit) {
        std::ostringstream text;
        text << std::fixed << std::setprecision(1) << value << unit;
        std::cout << std::setw(std::max(width, static_cast<int>(text.str().size()) + 2)) << text.str();
    };
    const auto us = [&](int width, double ns) { cell(width, ns / 1000, ""); };
    const auto percent = [&](int width, double part) { cell(width, part * 100, " %"); };
    std::cout << std::setw(8) << s.writes.ranks << std::setw(8) << size_text(s.writes.bytes);
    us(22, s.broadcast_ns);
    us(9, s.writes.broadcast_ns);
    percent(10, s.of_broadcast);
    std::cout << std::setw(14) << s.writes.k[1];
    us(10, s.allreduce_ns);
    us(14, s.best_ns);
    us(9, s.worst_ns);
    percent(16, s.of_best);
    percent(8, s.of_worst);
    std::cout << '\n';
}

json json_of(const rdma& m) {
    json document{{"name", "rdma"}};
    for (const auto& [name, member] : parameters) document[name] = m.*member;
    return document;
}

} // namespace

int predict(const predict_arguments& typed) {
    if (typed.model != "rdma") throw usage_error("MODEL", "there is no '" + typed.model + "'; known is rdma");
    rdma m = bough::model::giganet_2003;
    std::string source = "the network of the paper";
    json measured;
    if (!typed.parameters.empty() && !typed.transport.empty())
        throw usage_error("--measure", "does not go with --parameters");
    if (!typed.parameters.empty()) m = parse_parameters(typed.parameters), source = "as typed";
    if (!typed.provider.empty() && typed.transport.empty())
        throw usage_error("--provider", "goes with --measure fabric");
    if (!typed.transport.empty()) {
        const bough::remote_write_timing found = measure_over({typed.transport, typed.provider, "--measure"});
        if (found.fit.error) throw bough::error(found.fit.error);
        m = found.fit.model;
        source = "measured, " + typed.transport + ", two ranks";
        measured = {{"transport", typed.transport},
                    {"residual_rms", found.fit.residual_rms},
                    {"residual_max", found.fit.residual_max}};
    }
    std::vector<bough::rank_t> ranks;
    std::istringstream in(typed.ranks);
    for (std::string item; std::getline(in, item, ',');) ranks.push_back(parse_ranks(item));
    if (ranks.empty()) throw usage_error("--ranks", "needs a list, as 4,16,512");
    if (!typed.bytes.empty() && !typed.messages.empty())
        throw usage_error("--bytes", "does not go with --messages, which names them");
    const auto sizes = parse_size_range("--bytes", typed.bytes.empty() ? "4..4K" : typed.bytes),
               blocks = parse_sizes("--blocks", typed.blocks);
    const std::vector<by_messages> compared = parse_messages(typed.messages);
    for (const std::uint64_t block : blocks)
        if (block == 0) throw usage_error("--blocks", "a block holds at least a byte");

    if (typed.format == "json") {
        json document{{"model", json_of(m)}, {"source", source}, {"rows", json::array()}};
        if (!measured.is_null()) document["measured"] = measured;
        for (const bough::rank_t p : ranks) {
            for (const by_messages& known : compared)
                document["rows"].push_back(json_of(saving_of(m, p, known, blocks)));
            for (const std::uint64_t bytes : sizes) {
                if (!compared.empty()) break;
                const row r = row_of(m, p, bytes, blocks);
                document["rows"].push_back({{"ranks", p},
                                            {"bytes", bytes},
                                            {"best_k", r.k[0]},
                                            {"middle_k", r.k[1]},
                                            {"worst_k", r.k[2]},
                                            {"reduce_best_ns", r.reduce_best_ns},
                                            {"reduce_worst_ns", r.reduce_worst_ns},
                                            {"block_bytes", r.block},
                                            {"broadcast_ns", r.broadcast_ns}});
            }
        }
        print(std::cout, document);
        return 0;
    }
    std::cout << "Remote writes, parameters of " << source << ":\n ";
    for (std::size_t i = 0; i != parameters.size(); ++i)
        std::cout << ' ' << symbols[i] << ' ' << m.*parameters[i].second;
    std::cout << "   (ns; Tt, To, Tc ns per byte)\n";
    if (!measured.is_null())
        std::cout << "  the model is off by " << std::lround(100 * measured["residual_rms"].get<double>())
                  << " % (rms), at most by " << std::lround(100 * measured["residual_max"].get<double>()) << " %\n";
    if (!compared.empty()) {
        std::cout << "\n   ranks   bytes   broadcast: messages   writes   benefit   allreduce: k  messages"
                     "   writes: best    worst   benefit: best   worst\n"
                  << std::fixed << std::setprecision(1);
        for (const bough::rank_t p : ranks)
            for (const by_messages& known : compared) print(saving_of(m, p, known, blocks));
        return 0;
    }
    std::cout << "\n   ranks   bytes   best k: best case  middle  worst   reduce, us: best    worst   broadcast, us"
                 "   block\n"
              << std::fixed << std::setprecision(2);
    for (const bough::rank_t p : ranks)
        for (const std::uint64_t bytes : sizes) {
            const row r = row_of(m, p, bytes, blocks);
            std::cout << std::setw(8) << p << std::setw(8) << size_text(bytes) << std::setw(20) << r.k[0]
                      << std::setw(8) << r.k[1] << std::setw(7) << r.k[2] << std::setw(19) << r.reduce_best_ns / 1000
                      << std::setw(9) << r.reduce_worst_ns / 1000 << std::setw(16) << r.broadcast_ns / 1000
                      << std::setw(8) << size_text(r.block) << '\n';
        }
    return 0;
}

} // namespace cli
