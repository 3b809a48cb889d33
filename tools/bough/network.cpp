// SPDX-License-Identifier: BSL-1.0
// bough network: what a network is made of; and its file.
#include "commands.hpp"
#include "json.hpp"
#include "parse.hpp"
#include "simulation.hpp"
#include <bough/interchange/network.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace cli {

namespace {

struct paths_between {
    std::size_t least = 0, most = 0;
    double mean = 0;
};

// Of all pairs of hosts. Pre: the network is connected.
paths_between lengths_of(const bough::network& n) {
    paths_between found;
    std::uint64_t sum = 0, pairs = 0;
    std::vector<std::uint32_t> path;
    for (std::uint32_t a = 0; a != n.hosts(); ++a)
        for (std::uint32_t b = 0; b != n.hosts(); ++b) {
            if (a == b) continue;
            path.clear();
            n.path(a, b, path);
            found.least = pairs == 0 ? path.size() : std::min(found.least, path.size());
            found.most = std::max(found.most, path.size());
            sum += path.size();
            ++pairs;
        }
    if (pairs != 0) found.mean = static_cast<double>(sum) / static_cast<double>(pairs);
    return found;
}

std::string counted(std::size_t count, const std::string& one, const std::string& many) {
    return std::to_string(count) + ' ' + (count == 1 ? one : many);
}
std::string decimal(double value) { return bough::detail::shortest_text(value); }

// For Graphviz; hosts are circles.
void print_dot(std::ostream& out, const bough::network& n) {
    out << "graph network {\n  node [shape=circle]\n";
    for (std::uint32_t s = 0; s != n.switches(); ++s) out << "  s" << s << " [shape=box]\n";
    const auto name = [&](std::uint32_t v) {
        return v < n.hosts() ? std::to_string(v) : 's' + std::to_string(v - n.hosts());
    };
    for (std::size_t l = 0; l < n.links().size(); l += 2)
        out << "  " << name(n.links()[l].from) << " -- " << name(n.links()[l].to) << " [label=\""
            << decimal(n.links()[l].bytes_per_ns) << "\"]\n";
    out << "}\n";
}

} // namespace

int network(const network_arguments& typed) {
    const bough::network n = parse_network(typed.network, parse_number("--seed", typed.seed, 0, ~std::uint64_t{0}));
    if (typed.format == "file") {
        std::cout << bough::write_network(n);
        return 0;
    }
    if (typed.format == "dot") {
        print_dot(std::cout, n);
        return 0;
    }
    std::map<double, std::size_t> of_hosts, between; // cables by speed
    for (std::size_t l = 0; l < n.links().size(); l += 2) {
        const bough::network::link& c = n.links()[l];
        ++(c.from < n.hosts() || c.to < n.hosts() ? of_hosts : between)[c.bytes_per_ns];
    }
    const paths_between paths = lengths_of(n);
    if (typed.format == "json") {
        const auto listed = [](const std::map<double, std::size_t>& cables) {
            json made = json::array();
            for (const auto& [speed, count] : cables) made.push_back({{"bytes_per_ns", speed}, {"cables", count}});
            return made;
        };
        print(std::cout, {{"hosts", n.hosts()},
                          {"switches", n.switches()},
                          {"cables_of_hosts", listed(of_hosts)},
                          {"cables_between_switches", listed(between)},
                          {"hop_ns", n.hop_ns},
                          {"links_of_a_path", {{"least", paths.least}, {"mean", paths.mean}, {"most", paths.most}}}});
        return 0;
    }
    std::cout << counted(n.hosts(), "host", "hosts") << ", " << counted(n.switches(), "switch", "switches") << '\n';
    const auto list = [](const char* of, const std::map<double, std::size_t>& cables) {
        for (const auto& [speed, count] : cables)
            std::cout << "  " << of << counted(count, "cable", "cables") << " of " << decimal(speed)
                      << " bytes per ns\n";
    };
    list("of hosts          ", of_hosts);
    list("between switches  ", between);
    if (n.hosts() > 1)
        std::cout << "  from host to host " << paths.least << " to " << paths.most << " links, "
                  << decimal(static_cast<double>(static_cast<std::uint64_t>(paths.mean * 100 + 0.5)) / 100)
                  << " on average, " << decimal(n.hop_ns) << " ns each\n";
    return 0;
}

} // namespace cli
