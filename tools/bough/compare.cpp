// SPDX-License-Identifier: BSL-1.0
// bough compare: trees for ranks that differ in speed, side by side.
#include "cluster.hpp"
#include "commands.hpp"
#include "parse.hpp"
#include "progress.hpp"
#include <bough/tree/interval.hpp>
#include <bough/tree/reduction.hpp>

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <iostream>

namespace cli {

namespace {

using bough::rank_t;

struct entry {
    std::string name;
    double time = 0;
    std::string outline; // of an allreduce: of both trees
};
struct comparison {
    rank_t root = 0;
    std::uint64_t bytes = 0;
    double lower_bound = 0;
    std::vector<entry> entries;
    priced_ranks ranks;
};

std::string percent_above(double time, double bound) {
    char text[32];
    if (!(bound > 0)) return "-";
    std::snprintf(text, sizeof text, "%.1f %%", 100 * (time - bound) / bound);
    return text;
}

// An allreduce is a reduction over the tree that suits it, and a broadcast over the one that suits that.
comparison compare_trees(const std::string& collective, const priced_ranks& ranks, rank_t root, std::uint64_t bytes) {
    comparison all{.root = root, .bytes = bytes, .lower_bound = 0, .entries = {}, .ranks = ranks};
    const bough::mirrored_costs<double> backwards(bough::reduction_costs<double>{
        .send = ranks.send, .receive = ranks.receive, .combine = ranks.combine, .latency = ranks.latency});
    const bool down = collective != "reduce", up = collective != "broadcast";
    std::vector<std::string> names{"binomial", "spoc", "fnf", "search", "optimal"};
    if (up && ranks.send.size() <= bough::most_interval_ranks) names.push_back("interval");
    for (const std::string& name : names) {
        entry made;
        double bound = 0;
        const auto add = [&](const bough::tree_costs<double>& costs, const std::string& tree) {
            const cost_tree built = build_cost_tree(tree, costs, ranks.root);
            made.time += built.known.found;
            bound += built.known.lower_bound;
            made.outline += (made.outline.empty() ? "" : "   down ") + outline_of(built.tree, ranks.names);
        };
        made.name = name;
        if (up) add(backwards.costs(), name);
        // A broadcast has no order to keep.
        if (down) add(ranks.broadcast(), name == "interval" ? "optimal" : name);
        if (name == "optimal") all.lower_bound = bound;
        all.entries.push_back(std::move(made));
    }
    return all;
}

json document_of(const std::string& collective, const std::vector<comparison>& all) {
    json list = json::array();
    for (const comparison& c : all) {
        json trees = json::array();
        for (const entry& e : c.entries) trees.push_back({{"tree", e.name}, {"time", e.time}, {"outline", e.outline}});
        list.push_back({{"collective", collective},
                        {"root", c.root},
                        {"ranks", c.ranks.names},
                        {"bytes", c.bytes},
                        {"lower_bound", c.lower_bound},
                        {"trees", std::move(trees)}});
    }
    return list;
}

std::string among(const std::string& collective, const comparison& c) {
    const std::size_t ranks = c.ranks.names.size();
    return collective + " among " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

void print_one(std::ostream& out, const std::string& collective, const comparison& c, bool typed) {
    out << among(collective, c) << ", root " << c.root;
    if (!typed) out << ", " << size_text(c.bytes) << " bytes";
    out << "; no tree takes less than " << c.ranks.time_text(c.lower_bound)
        << "\n  tree            time    above that  outline\n";
    for (const entry& e : c.entries)
        out << "  " << std::left << std::setw(9) << e.name << std::right << std::setw(11) << c.ranks.time_text(e.time)
            << std::setw(14) << percent_above(e.time, c.lower_bound) << "  " << e.outline << '\n';
}

void print_many(std::ostream& out, const std::string& collective, const std::vector<comparison>& all, bool typed) {
    out << among(collective, all[0]) << "\n    root";
    if (!typed) out << "   bytes";
    for (const entry& e : all[0].entries) out << std::setw(11) << e.name;
    out << std::setw(13) << "lower bound" << '\n';
    for (const comparison& c : all) {
        out << std::setw(8) << c.root;
        if (!typed) out << std::setw(8) << size_text(c.bytes);
        for (const entry& e : c.entries) out << std::setw(11) << c.ranks.time_text(e.time);
        out << std::setw(13) << c.ranks.time_text(c.lower_bound) << '\n';
    }
}

} // namespace

int compare(const compare_arguments& typed) {
    if (typed.collective != "broadcast" && typed.collective != "reduce" && typed.collective != "allreduce")
        throw usage_error("COLLECTIVE",
                          "there is no '" + typed.collective + "' to compare; known are broadcast, reduce, allreduce");
    const cluster given = find_cluster(typed.costs);
    const std::vector<rank_t> roots = parse_rank_list("--root", typed.root, given.ranks);
    std::vector<rank_t> members;
    if (!typed.costs.members.empty()) members = parse_rank_list("--members", typed.costs.members, given.ranks);
    const std::vector<std::uint64_t> sizes = parse_sizes("--bytes", typed.costs.bytes);
    std::vector<comparison> all;
    progress::expect(roots.size() * sizes.size());
    for (const rank_t root : roots)
        for (const std::uint64_t bytes : sizes) {
            all.push_back(compare_trees(typed.collective, price(given, bytes, root, members), root, bytes));
            progress::step();
        }
    if (typed.format == "json")
        print(std::cout, document_of(typed.collective, all));
    else if (all.size() == 1)
        print_one(std::cout, typed.collective, all[0], given.typed);
    else
        print_many(std::cout, typed.collective, all, given.typed);
    return 0;
}

} // namespace cli
