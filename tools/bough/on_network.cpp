// SPDX-License-Identifier: BSL-1.0
// Choices by runs over a network, and the least time that any plan can have there.
#include "on_network.hpp"

#include "parse.hpp"
#include <bough/select/on_network.hpp>
#include <bough/select/print_decision.hpp>

#include <algorithm>
#include <cmath>
#include <variant>

namespace cli {

std::optional<priced_network> parse_priced_network(const std::string& network, const std::string& model,
                                                   bough::rank_t most_ranks) {
    if (network.empty()) return std::nullopt;
    priced_network made{parse_network(network, 1), parse_simulated_model(model.empty() ? "lrc:1us,0,0" : model), ""};
    if (most_ranks > made.over.hosts() && made.over.placement.empty())
        throw usage_error("--ranks", "the network has " + std::to_string(made.over.hosts()) +
                                         " hosts; more ranks need a file that places them");
    if (const bough::status bad = made.over.check(most_ranks)) throw usage_error("--network", bad.argument);
    made.text = network + "; " + made.model.text;
    return made;
}

bough::decision choose_on(const priced_network& on, collective c, const bough::dimensions& at,
                          const bough::problem& what, const bough::choose_options& options) {
    bough::candidate_list from = standard_candidates(c, at, what, options.needed);
    bough::add_network_candidates(from, at, what, on.over);
    return std::visit(
        [&](const auto& m) {
            return bough::choose(from, at, what, bough::on_network{on.over, m}, options);
        },
        on.model.costs);
}

bough::network_bound bound_on(const bough::network& over, const simulated_model& model, collective c,
                              const bough::dimensions& at, std::uint64_t bytes) {
    const std::uint8_t kind = with_goal(c, [](auto goal) { return decltype(goal)::kind; });
    return std::visit([&](const auto& m) { return bough::bound_on(over, m, kind, at, bytes); }, model.costs);
}

std::string text_of(const bough::network_bound& least, double ns) {
    const double percent = ns > 0 ? std::floor(100 * least.ns() / ns + 1e-9) : 100;
    return std::to_string(static_cast<int>(std::min(percent, 100.0))) +
           " % of what this network can do: no plan takes less than " + bough::time_text(least.ns()) +
           (least.all_cuts ? "" : " (of a large network not all cuts were tried)");
}

} // namespace cli
