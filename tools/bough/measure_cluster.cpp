// SPDX-License-Identifier: BSL-1.0
// bough measure --heterogeneous: what messages cost each rank, as a cluster file.
#include "cluster.hpp"
#include "commands.hpp"
#include "emulation.hpp"
#include "parse.hpp"
#include <bough/measure/heterogeneous.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <iomanip>
#include <iostream>

namespace cli {

namespace {

using bough::rank_t;
constexpr std::uint64_t bytes = 8;

// Ranks whose sends cost about the same: a group ends where the next is a quarter slower than its first.
std::vector<cluster::group> groups_of(const bough::model::heterogeneous& costs, rank_t ranks) {
    std::vector<rank_t> order;
    for (rank_t r = 0; r != ranks; ++r) order.push_back(r);
    const auto cost = [&](rank_t r) { return costs.send_ns(r, r, bytes); };
    std::stable_sort(order.begin(), order.end(), [&](rank_t a, rank_t b) { return cost(a) < cost(b); });
    std::vector<cluster::group> groups;
    double first = 0;
    for (const rank_t r : order) {
        if (groups.empty() || cost(r) > 1.25 * first) {
            groups.push_back({"speed " + std::to_string(groups.size() + 1), {}});
            first = cost(r);
        }
        groups.back().ranks.push_back(r);
    }
    for (auto& g : groups) std::sort(g.ranks.begin(), g.ranks.end());
    return groups;
}

struct acknowledged {
    double naive_ns = 0, fnf_ns = 0;
};

} // namespace

int measure_cluster(const measure_arguments& typed) {
    check_transport(typed.transport);
    const auto ranks = static_cast<rank_t>(parse_number("--ranks", typed.ranks, 3, 64));
    const auto runs = static_cast<std::uint32_t>(parse_number("--iterations", typed.iterations, 1, 1'000'000));
    bough::emulation emulated;
    if (!typed.emulate.empty()) emulated = parse_emulation(typed.emulate, ranks);
    bough::heterogeneous_measurement found;
    acknowledged seen;
    bough::in_process{ranks}.run([&](auto transport) {
        const auto measure_all = [&](auto& comm) {
            const auto mine = bough::measure_heterogeneous(comm, {.repetitions = runs});
            const auto send = mine.send_ns(bytes), receive = mine.receive_ns(bytes);
            const bough::tree_costs<double> costs{send, receive, mine.costs.latency_ns(0, 0, bytes)};
            const bough::table naive(bough::tree(bough::binomial{}, comm.size())), fnf = bough::fnf_tree(costs);
            const auto latency = [&](const bough::table& over) {
                return bough::broadcast_latency_ns(comm, over, bough::root{0}, bytes, mine.costs, runs);
            };
            const acknowledged times{latency(naive), latency(fnf)};
            if (comm.rank() == 0) found = mine, seen = times;
        };
        if (typed.emulate.empty()) {
            bough::communicator comm{std::move(transport)};
            measure_all(comm);
        } else {
            bough::communicator comm{bough::emulated{std::move(transport), emulated}};
            measure_all(comm);
        }
    });
    const cluster made{.ranks = ranks, .costs = found.costs, .groups = groups_of(found.costs, ranks)};
    if (typed.format == "json") {
        print(std::cout, json_of(made));
        return 0;
    }
    std::cout << "What messages cost each rank, in_process: " << ranks << " threads; the least of " << runs
              << " bursts and round trips; combines of doubles by plus.\n\n"
                 "    rank  speed        send     a KiB     receive     combine     a KiB\n";
    for (std::size_t g = 0; g != made.groups.size(); ++g)
        for (const rank_t r : made.groups[g].ranks)
            std::cout << std::setw(8) << r << std::setw(7) << g + 1 << std::setw(12)
                      << bough::time_text(made.costs.send[r].base_ns) << std::setw(10)
                      << bough::time_text(1024 * made.costs.send[r].per_byte_ns) << std::setw(12)
                      << bough::time_text(made.costs.receive[r].base_ns) << std::setw(12)
                      << bough::time_text(made.costs.combine[r].base_ns) << std::setw(10)
                      << bough::time_text(1024 * made.costs.combine[r].per_byte_ns) << '\n';
    std::cout << "\n  latency " << bough::time_text(made.costs.message_latency_ns)
              << "\n\nBroadcasts of 8 bytes from rank 0, acknowledged by one rank after the other:\n"
              << "                measured   predicted\n";
    const priced_ranks priced = price(made, bytes, 0, {});
    for (const auto& [name, ns] : {std::pair{"binomial", seen.naive_ns}, std::pair{"fnf", seen.fnf_ns}})
        std::cout << "  " << std::left << std::setw(10) << name << std::right << std::setw(12) << bough::time_text(ns)
                  << std::setw(12) << bough::time_text(build_cost_tree(name, priced.broadcast(), 0).known.found)
                  << '\n';
    return 0;
}

} // namespace cli
