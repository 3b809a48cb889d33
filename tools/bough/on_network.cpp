// SPDX-License-Identifier: BSL-1.0
// Choices by runs over a network, and the least time that any plan can have there.
#include "on_network.hpp"

#include "models.hpp"
#include "parse.hpp"
#include <bough/model/arriving.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/select/fitted_trees.hpp>
#include <bough/select/on_network.hpp>
#include <bough/select/pack_trees.hpp>
#include <bough/select/print_decision.hpp>

#include <cmath>
#include <variant>

namespace cli {

std::optional<priced_network> parse_priced_network(const std::string& network, const std::string& model,
                                                   const std::string& eager, bough::rank_t most_ranks) {
    if (network.empty()) return std::nullopt;
    priced_network made{parse_network(network, 1), parse_simulated_model(model.empty() ? "lrc:1us,0,0" : model), ""};
    if (most_ranks > made.over.hosts() && made.over.placement.empty())
        throw usage_error("--ranks", "the network has " + std::to_string(made.over.hosts()) +
                                         " hosts; more ranks need a file that places them");
    if (const bough::status bad = made.over.check(most_ranks)) throw usage_error("--network", bad.argument);
    made.eager_bytes = parse_eager(eager);
    made.text = network + "; " + made.model.text + eager_text(made.eager_bytes);
    return made;
}

namespace {

std::uint8_t kind_of(collective c) {
    return with_goal(c, [](auto goal) { return decltype(goal)::kind; });
}

constexpr bough::rank_t most_ranks_searched = 16; // takes seconds
constexpr bough::rank_t most_ranks_bounded = 8;   // takes a tenth of a second

// Calls f with what was found for the collective. Pre: has_packed_trees(c).
template <class F>
decltype(auto) with_packing(const bough::network& over, collective c, const bough::dimensions& at, F&& f) {
    if (c == collective::broadcast) return f(bough::pack_trees<bough::goal::broadcast>(over, at));
    if (c == collective::reduce) return f(bough::pack_trees<bough::goal::reduce>(over, at));
    if (c == collective::allgather) return f(bough::pack_trees<bough::goal::allgather>(over, at));
    if (c == collective::reduce_scatter) return f(bough::pack_trees<bough::goal::reduce_scatter>(over, at));
    return f(bough::pack_trees<bough::goal::allreduce>(over, at));
}

} // namespace

problem parse_plan(const plan_arguments& typed, runs_over runs) {
    if (typed.algorithm != "packed_trees" && typed.network.empty()) return parse_problem(typed);
    if (typed.ranks.empty() && typed.algorithm != "packed_trees") {
        if (runs != runs_over::network) throw usage_error("--network", "goes with packed_trees");
        return parse_problem(typed);
    }
    if (typed.ranks.empty()) throw usage_error("--ranks is required");
    return parse_plan(typed, parse_ranks(typed.ranks), runs);
}
problem parse_plan(const plan_arguments& typed, bough::rank_t ranks, runs_over runs) {
    if (typed.algorithm != "packed_trees" || typed.network.empty()) {
        if (!typed.network.empty() && runs != runs_over::network)
            throw usage_error("--network", "goes with packed_trees");
        return parse_problem(typed, ranks);
    }
    const collective c = find_collective(typed.collective);
    if (!has_packed_trees(c)) return parse_problem(typed, ranks); // which says that there are none
    for (const auto& [given, name] :
         {std::pair{!typed.degree.empty(), "--degree"}, std::pair{typed.ordered, "--ordered"},
          std::pair{!typed.extents.empty(), "--extents"}})
        if (given) throw usage_error(name, "packed_trees has trees that fit the network: there is nothing to choose");
    const bough::network over = parse_network(typed.network, 1);
    if (ranks > most_ranks_searched)
        throw usage_error("--ranks",
                          "packed_trees searches for at most " + std::to_string(most_ranks_searched) + " ranks");
    if (const bough::status bad = over.check(ranks)) throw usage_error("--network", bad.argument);
    const auto root = static_cast<bough::rank_t>(parse_number("--root", typed.root, 0, ranks - 1));
    return with_packing(over, c, {.size = ranks, .root = root},
                        [&](const auto& found) { return parse_problem(typed, ranks, found.algorithm); });
}

double least_along_paths(const priced_network& on, collective c, const bough::dimensions& at, std::uint64_t bytes) {
    if (!has_packed_trees(c) || at.size > most_ranks_bounded) return 0;
    return with_packing(on.over, c, at, [&](const auto& found) { return found.least_ns_per_byte; }) *
           static_cast<double>(bough::bytes_bounded(kind_of(c), at, bytes));
}

bough::dimensions least_cut(const bough::decision& d) {
    bough::dimensions least = d.at;
    for (const bough::prospect& p : d.prospects) {
        const bough::dimensions at{d.at.size, d.at.root, p.blocks};
        if (bytes_bounded(d.kind, at, d.what.bytes) < bytes_bounded(d.kind, least, d.what.bytes)) least = at;
    }
    return least;
}

namespace {
bough::decision choose_among(const bough::candidate_list& from, const priced_network& on, const bough::dimensions& at,
                             const bough::problem& what, const bough::choose_options& options,
                             const std::vector<std::uint64_t>& arrivals_ns) {
    const auto by = [&](const auto& costs) {
        return bough::choose(from, at, what, bough::on_network{on.over, costs}, options);
    };
    return std::visit(
        [&](const auto& m) {
            const bough::model::rendezvous eager{m, on.eager_bytes};
            return arrivals_ns.empty() ? by(eager) : by(bough::model::arriving{eager, arrivals_ns});
        },
        on.model.costs);
}
} // namespace

bough::decision choose_on(const priced_network& on, collective c, const bough::dimensions& at,
                          const bough::problem& what, const bough::choose_options& options,
                          const std::vector<std::uint64_t>& arrivals_ns) {
    bough::candidate_list from = std::visit(
        [&](const auto& m) {
            bough::candidate_list made = standard_candidates(c, at, what, options.needed, m, arrivals_ns);
            if (c == collective::reduce && at.size > 1 && !arrivals_ns.empty())
                bough::add_fitted_trees(made, at, what, m, arrivals_ns);
            return made;
        },
        on.model.costs);
    bough::add_network_candidates(from, at, what, on.over);
    return choose_among(from, on, at, what, options, arrivals_ns);
}

bough::decision choose_on(const priced_network& on, collective c, const neighbours& who, const bough::problem& what,
                          const bough::choose_options& options) {
    return choose_among(neighbour_candidates(c, who.around), on, {.size = who.ranks}, what, options, {});
}

bough::network_bound bound_on(const bough::network& over, const simulated_model& model, collective c,
                              const bough::dimensions& at, std::uint64_t bytes) {
    return std::visit([&](const auto& m) { return bough::bound_on(over, m, kind_of(c), at, bytes); }, model.costs);
}

bough::network_bound bound_on(const bough::network& over, const simulated_model& model, collective c,
                              const neighbours& who, std::uint64_t bytes) {
    const bough::dimensions at{.size = who.ranks};
    const auto of = [&](const auto& goal) {
        return std::visit([&](const auto& m) { return bough::bound_on(over, m, goal, at, bytes); }, model.costs);
    };
    if (c == collective::neighbour_allgather) return of(bough::goal::neighbour_allgather{who.around});
    return of(bough::goal::neighbour_alltoall{who.around});
}

bough::network_bound bound_on(const bough::network& over, const simulated_model& model, const problem& what,
                              std::uint64_t bytes) {
    if (has_neighbours(what.collective)) return bound_on(over, model, what.collective, what.neighbours, bytes);
    bough::dimensions at = what.at;
    if (at.blocks == bough::natural_blocks) at.blocks = what.algorithm.natural_blocks(at.size);
    return bound_on(over, model, what.collective, at, bytes);
}

namespace {
int percent_of(double least_ns, double ns) {
    return static_cast<int>(ns > 0 ? std::floor(100 * least_ns / ns + 1e-9) : 100); // no more, if it is a bound
}
} // namespace

std::string text_along_paths(double least_ns, double ns) {
    return std::to_string(percent_of(least_ns, ns)) +
           " % of what is possible along its paths: no plan takes less than " + bough::time_text(least_ns) + " there";
}

std::string text_of(const bough::network_bound& least, double ns) {
    return std::to_string(percent_of(least.ns(), ns)) + " % of what this network can do: no plan takes less than " +
           bough::time_text(least.ns()) + (least.all_cuts ? "" : " (of a large network not all cuts were tried)");
}

} // namespace cli
