// SPDX-License-Identifier: BSL-1.0
// bough tree postal|arrival: trees made of times: a latency, a gap, and when ranks come.
#include "commands.hpp"
#include "parse.hpp"
#include "simulation.hpp"
#include "timed_tree.hpp"
#include <bough/tree/arrival.hpp>
#include <bough/tree/postal.hpp>

#include <cmath>
#include <utility>

namespace cli {

namespace {

// Whole ns, since arrival_tree halves them.
std::uint64_t whole_time(const std::string& argument, const std::string& text) {
    if (text.empty()) throw usage_error(argument + " is required");
    const double ns = parse_time(argument, text);
    if (ns != std::floor(ns) || ns >= 0x1p53)
        throw usage_error(argument, "needs whole nanoseconds, not '" + text + "'");
    return static_cast<std::uint64_t>(ns);
}

} // namespace

bool is_timed_tree(std::string_view name) { return name == "postal" || name == "arrival"; }

std::vector<std::uint64_t> parse_arrivals(const std::string& text) {
    std::vector<std::uint64_t> times;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        times.push_back(whole_time("--arrivals", text.substr(at, end - at)));
        at = end + 1;
    }
    return times;
}

timed_tree build_timed_tree(const tree_arguments& typed) {
    if (typed.ordered) throw usage_error("--ordered", typed.shape + " is made for a root already");
    if (!typed.degree.empty()) throw usage_error("--degree", typed.shape + " has no degree to choose");
    const cost_arguments& other = typed.costs;
    for (const auto& [argument, text] : {std::pair{"--costs", &other.costs}, std::pair{"--receive", &other.receive},
                                         std::pair{"--cluster", &other.file}, std::pair{"--members", &other.members}})
        if (!text->empty()) throw usage_error(argument, typed.shape + " is made of --latency and --gap alone");
    const std::uint64_t latency = whole_time("--latency", typed.costs.latency), gap = whole_time("--gap", typed.gap);
    if (gap == 0) throw usage_error("--gap", "needs a time above 0");
    const bool late = typed.shape == "arrival";
    if (late == typed.arrivals.empty())
        throw usage_error("--arrivals", late ? "is required: when each rank comes" : "goes with the tree 'arrival'");
    std::vector<std::uint64_t> times;
    if (late) times = parse_arrivals(typed.arrivals);
    if (!late && typed.ranks.empty()) throw usage_error("--ranks is required");
    const auto ranks = late && typed.ranks.empty()
                           ? static_cast<bough::rank_t>(times.size())
                           : static_cast<bough::rank_t>(parse_number("--ranks", typed.ranks, 1, 1u << 20));
    if (late && ranks != times.size())
        throw usage_error("--ranks", "there are times of " + std::to_string(times.size()) + " ranks");
    // Without a root, an arrival tree has the rank that comes last.
    const bool any_root = late && typed.root.empty();
    const auto root =
        any_root
            ? bough::no_rank
            : static_cast<bough::rank_t>(parse_number("--root", typed.root.empty() ? "0" : typed.root, 0, ranks - 1));
    if (late)
        return {bough::arrival_tree(times, latency, gap, root),
                static_cast<double>(bough::arrival_tree_time(times, latency, gap, root))};
    const double l = static_cast<double>(latency), g = static_cast<double>(gap);
    return {bough::postal_tree(ranks, l, g, root), bough::postal_ns(ranks, l, g)};
}

} // namespace cli
