// SPDX-License-Identifier: BSL-1.0
// bough choose: which algorithm, and why. bough tune: measures the times that a table chooses by.
#include "bench.hpp"
#include "catalogue.hpp"
#include "commands.hpp"
#include "models.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "party.hpp"
#include "timed_tree.hpp"
#include <bough/model/arriving.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/fitted_trees.hpp>
#include <bough/select/print_decision.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cli {

namespace {

constexpr bough::rank_t most_ranks_chosen = 1u << 16;
constexpr bough::rank_t most_ranks_asked = 256; // they are started
constexpr bough::rank_t most_ranks_tuned = 64;
constexpr std::uint64_t most_bytes_tuned = std::uint64_t{1} << 30; // of all ranks

json json_of(const bough::decision& d) {
    json document{{"collective", bough::goal_name(d.kind)},
                  {"ranks", d.at.size},
                  {"root", d.at.root},
                  {"bytes", d.what.bytes},
                  {"exact", d.what.exact_op},
                  {"measured", d.measured},
                  {"candidates", json::array()}};
    for (const bough::prospect& p : d.prospects) {
        json one{{"algorithm", text_of(p.what.algorithm)}, {"blocks", p.blocks}};
        if (p.excluded != bough::exclusion::none)
            one["excluded"] = bough::reason_text(p);
        else
            one[p.at_least ? "at_least_ns" : p.about ? "about_ns" : "ns"] = p.predicted_ns;
        document["candidates"].push_back(std::move(one));
    }
    return document;
}

json json_of(const std::vector<bough::message_way>& ways) {
    json list = json::array();
    for (const bough::message_way& w : ways)
        list.push_back({{"way", bough::way_text(w.way)},
                        {"combined", w.combines},
                        {"from_far", w.from_far},
                        {"messages", w.count},
                        {"least_bytes", w.least_bytes},
                        {"most_bytes", w.most_bytes},
                        {"from_bytes", w.from_bytes},
                        {"to_bytes", w.to_bytes == bough::message_way::longest ? json(nullptr) : json(w.to_bytes)}});
    return list;
}

std::string times_the_fastest(double ns, double fastest_ns) {
    if (!bough::has_factor(ns, fastest_ns)) return "";
    return ": " + bough::factor_text(ns / fastest_ns) + " times the fastest";
}

// What no plan takes less than, over a network.
struct least_time {
    bough::network_bound bound;
    double along_ns = 0; // along the paths that messages take; 0: not known
};
// Prints what choose_for(bytes) chooses for each length, and how near it comes to least_for(bytes, that), if
// that is known.
template <class Choose, class Least>
int choose_over_network(const choose_arguments& typed, const priced_network& on, const neighbours& who,
                        const std::vector<std::uint64_t>& sizes, const Choose& choose_for, const Least& least_for) {
    bool any = true;
    json documents = json::array();
    for (const std::uint64_t bytes : sizes) {
        const bough::decision d = choose_for(bytes);
        const std::optional<least_time> least = least_for(bytes, d);
        any &= bool(d);
        if (typed.format == "json") {
            documents.push_back(json_of(d));
            if (!least) continue;
            documents.back()["least_ns"] = least->bound.ns();
            if (least->along_ns != 0) documents.back()["least_along_paths_ns"] = least->along_ns;
            if (d) documents.back()["share_of_bound"] = least->bound.ns() / d.winner().predicted_ns;
            continue;
        }
        std::cout << d;
        if (!d || !least) continue;
        std::cout << "  that is " << text_of(least->bound, d.winner().predicted_ns) << '\n';
        if (least->along_ns > least->bound.ns() * 1.01)
            std::cout << "  and " << text_along_paths(least->along_ns, d.winner().predicted_ns) << '\n';
    }
    if (typed.format == "json") {
        json document{{"network", on.text}, {"decisions", std::move(documents)}};
        if (who.ranks != 0) document["neighbours"] = who.written;
        print(std::cout, document);
        return any ? 0 : 1;
    }
    if (who.ranks != 0) std::cout << "neighbours: " << text_of(who) << '\n';
    std::cout << "network: " << on.text << '\n';
    return any ? 0 : 1;
}

} // namespace

namespace {

// By which costs the ranks choose that are asked.
std::string text_of(const choose_arguments& typed, const bough::problem& known, bough::rank_t ranks) {
    std::string text = "those that " + typed.transport + " states";
    if (known.levels != nullptr) text += ", for near ranks and for far ones";
    if (known.cores < ranks)
        text += "; " + std::to_string(ranks) + " ranks share " + std::to_string(known.cores) +
                (known.cores == 1 ? " core" : " cores");
    return text;
}

// Among the algorithms for a neighbourhood, by a model.
int choose_neighbours(const choose_arguments& typed, collective c) {
    for (const auto& [value, name] : {std::pair{&typed.transport, "--transport"}, std::pair{&typed.table, "--table"},
                                      std::pair{&typed.arrivals, "--arrivals"}})
        if (!value->empty()) throw usage_error(name, "does not go with --neighbours");
    if (typed.neighbours.empty())
        throw usage_error("--neighbours", typed.collective + " needs it: star:8x8, box:4x4x4, or a file");
    const neighbours who = parse_neighbours(typed.neighbours);
    if (!typed.ranks.empty() && parse_ranks(typed.ranks) != who.ranks)
        throw usage_error("--ranks",
                          "--neighbours are of " + std::to_string(who.ranks) + " ranks, not of " + typed.ranks);
    if (who.ranks > 4096) throw usage_error("--neighbours", "at most 4096 ranks, since each has a block");
    const bough::choose_options options{
        .needed = parse_requirements(typed.require), .price_all = typed.all, .in_a_loop = true};
    const auto sizes = bytes_of(c, typed.bytes, "64K");
    if (const auto on = parse_priced_network(typed.network, typed.model, typed.eager, who.ranks))
        return choose_over_network(
            typed, *on, who, sizes,
            [&](std::uint64_t bytes) { return choose_on(*on, c, who, {.bytes = bytes}, options); },
            [&](std::uint64_t bytes, const bough::decision&) {
                return std::optional<least_time>{{bound_on(on->over, on->model, c, who, bytes)}};
            });
    named_model model = parse_model(typed.model);
    const std::uint64_t eager_bytes = parse_eager(typed.eager);
    const bough::any_cost_model costs = with_eager(model, eager_bytes);
    model.text += eager_text(eager_bytes);
    const bough::candidate_list from = neighbour_candidates(c, who.around);
    json documents = json::array();
    bool any = true;
    for (const std::uint64_t bytes : sizes) {
        const bough::decision d = bough::choose(from, {.size = who.ranks}, {.bytes = bytes}, costs, options);
        any &= bool(d);
        if (typed.format == "json")
            documents.push_back(json_of(d));
        else
            std::cout << d;
    }
    if (typed.format == "json")
        print(std::cout, {{"model", model.text}, {"neighbours", who.written}, {"decisions", std::move(documents)}});
    else
        std::cout << "neighbours: " << text_of(who) << "\nmodel: " << model.text << '\n';
    return any ? 0 : 1;
}

// `asked`: null, or one of the ranks that are asked which way messages go; rank 0 prints.
int choose_among(const choose_arguments& typed, bough::rank_t ranks, asked_ranks* asked) {
    const collective c = find_collective(typed.collective);
    const auto root = static_cast<bough::rank_t>(parse_number("--root", typed.root, 0, ranks - 1));
    const auto sizes = bytes_of(c, typed.bytes, "64K");
    const bough::choose_options options{
        .needed = parse_requirements(typed.require), .price_all = typed.all, .in_a_loop = true};
    const bool by_model = asked == nullptr || !typed.model.empty();
    std::vector<std::uint64_t> arrivals;
    if (!typed.arrivals.empty()) {
        if (c != collective::reduce && c != collective::allreduce)
            throw usage_error("--arrivals", "is for reduce and allreduce");
        if (!by_model) throw usage_error("--arrivals", "goes with --model, where --transport is given");
        arrivals = parse_arrivals(typed.arrivals);
        if (arrivals.size() != ranks)
            throw usage_error("--arrivals", "there are times of " + std::to_string(arrivals.size()) +
                                                " ranks, not of " + std::to_string(ranks));
    }
    const bough::dimensions at{.size = ranks, .root = root};
    if (const auto on = parse_priced_network(typed.network, typed.model, typed.eager, ranks)) {
        if (!typed.table.empty()) throw usage_error("--table", "does not go with --network");
        return choose_over_network(
            typed, *on, {}, sizes,
            [&](std::uint64_t bytes) {
                return choose_on(*on, c, at, {.bytes = bytes, .exact_op = typed.exact}, options, arrivals);
            },
            [&](std::uint64_t bytes, const bough::decision& d) -> std::optional<least_time> {
                if (!arrivals.empty()) return std::nullopt; // the bound is of ranks that come together
                const bough::dimensions cut = least_cut(d);
                return {{bound_on(on->over, on->model, c, cut, bytes), least_along_paths(*on, c, cut, bytes)}};
            });
    }
    const bool speaks = asked == nullptr || asked->rank() == 0;
    named_model model = parse_model(typed.model);
    const std::uint64_t eager_bytes = parse_eager(typed.eager);
    model.text += eager_text(eager_bytes);
    if (!typed.eager.empty() && !by_model)
        throw usage_error("--eager", "goes with --model, where --transport is given");
    if (ranks > 4096 && has_rank_blocks(c)) throw usage_error("--ranks", "at most 4096, since each has a block");
    bough::decision_table table;
    if (!typed.table.empty()) table = read_table(typed.table);

    bool any = true;
    json documents = json::array();
    const bough::problem known = by_model ? bough::problem{} : asked->known();
    for (const std::uint64_t bytes : sizes) {
        bough::problem what = known;
        what.bytes = bytes;
        what.exact_op = typed.exact;
        const auto by = [&](const auto& m) -> bough::any_cost_model {
            if (arrivals.empty()) return with_eager(model, eager_bytes);
            return bough::model::arriving{bough::model::rendezvous{m, eager_bytes}, arrivals};
        };
        const bough::any_cost_model costs = by_model ? std::visit(by, model.parameters) : asked->costs();
        auto from = standard_candidates(c, at, what, options.needed, costs, arrivals);
        const auto add_trees = [&](const auto& m) {
            if (ranks > 1 && (c == collective::reduce || c == collective::broadcast))
                bough::add_fitted_trees(from, at, what, m, arrivals);
        };
        if (by_model) std::visit(add_trees, model.parameters);
        bough::decision priced;
        std::size_t winner = from.list.size();
        if (speaks) {
            priced = bough::choose(from, at, what, costs, options);
            const auto is_it = [&](const bough::candidate& one) { return priced && one == priced.winner().what; };
            winner =
                static_cast<std::size_t>(std::find_if(from.list.begin(), from.list.end(), is_it) - from.list.begin());
        }
        if (asked != nullptr) priced.ways = asked->ways_of(from, winner, at, what);
        if (!speaks) continue;
        any &= bool(priced);
        if (typed.format == "json") {
            documents.push_back(json_of(priced));
            if (asked != nullptr) documents.back()["ways"] = json_of(priced.ways);
        } else {
            std::cout << priced;
        }
        if (typed.table.empty()) continue;
        const bough::decision by_table = bough::choose(from, at, what, table, options);
        if (typed.format == "json") {
            documents.push_back(json_of(by_table));
            continue;
        }
        std::cout << "by the table: " << by_table;
        if (!priced || !by_table) continue;
        const double taken =
            table.time_ns(from.kind, ranks, bytes, priced.winner().what.algorithm.text(), priced.winner().blocks);
        if (priced.winner().what == by_table.winner().what)
            std::cout << "model and table agree\n";
        else if (taken < 0)
            std::cout << "what the model chose was not measured\n";
        else
            std::cout << "what the model chose was measured at " << bough::time_text(taken)
                      << times_the_fastest(taken, by_table.winner().predicted_ns) << '\n';
    }
    if (!speaks) return 0;
    const std::string costs_text = by_model ? model.text : text_of(typed, known, ranks);
    if (typed.format == "json") {
        json document{{"model", costs_text}};
        if (asked != nullptr) document["transport"] = typed.transport;
        document["decisions"] = std::move(documents);
        print(std::cout, document);
    } else {
        std::cout << (by_model ? "model: " : "costs: ") << costs_text << '\n';
    }
    return any ? 0 : 1;
}

} // namespace

int choose(const choose_arguments& typed) {
    if (const auto c = any_collective_of(typed.collective); c && has_neighbours(*c))
        return choose_neighbours(typed, *c);
    if (!typed.neighbours.empty()) throw usage_error("--neighbours", typed.collective + " has none");
    if (typed.ranks.empty()) throw usage_error("--ranks is required");
    check_transport(typed);
    const bool asks = !typed.transport.empty();
    find_collective(typed.collective);
    const auto ranks = static_cast<bough::rank_t>(
        parse_number("--ranks", typed.ranks, 1, asks ? most_ranks_asked : most_ranks_chosen));
    if (!asks) return choose_among(typed, ranks, nullptr);
    if (!typed.network.empty()) throw usage_error("--network", "does not go with --transport");
    if (!typed.nodes.empty()) parse_number("--nodes", typed.nodes, 1, ranks);
    if (typed.transport == "in_process") return choose_among(typed, ranks, ask_in_process(ranks).get());
    return run_as_ranks(typed, ranks, started_by::this_program,
                        [&](party& mine) { return choose_among(typed, mine.size(), &mine); });
}

int tune(const tune_arguments& typed) {
    if (typed.collective == "one_sided") return tune_one_sided(typed);
    if (!typed.provider.empty()) throw usage_error("--provider", "goes with one_sided");
    check_transport(typed.transport);
    const collective c = find_collective(typed.collective);
    const rank_range ranks = parse_rank_range(typed.ranks);
    if (ranks.last > most_ranks_tuned)
        throw usage_error("--ranks", "at most " + std::to_string(most_ranks_tuned) + ", not '" + typed.ranks + "'");
    const auto sizes = byte_range_of(c, typed.bytes, "8..1M");
    const auto iterations = static_cast<std::size_t>(parse_number("--iterations", typed.iterations, 1, 1'000'000));
    if (sizes.back() > most_bytes_tuned / ranks.last)
        throw usage_error("--bytes", size_text(sizes.back()) + " on each of " + std::to_string(ranks.last) +
                                         " ranks is too much: all of them together may have " +
                                         size_text(most_bytes_tuned));
    workload work = find_workload("plus", "f64");
    check_whole(sizes, work, "f64");
    work.iterations = iterations;
    bough::decision_table table;
    std::uint64_t wrong = 0;
    for (bough::rank_t p = ranks.first; p <= ranks.last; ++p)
        for (const std::uint64_t bytes : sizes) {
            work.count = bytes / work.op.element_size;
            const bough::dimensions at{.size = p};
            const auto from =
                standard_candidates(c, at, {.bytes = work.bytes()}, bough::order_preserving, {}); // measured
            for (const bough::candidate& one : from.list) {
                const problem what{c, one.algorithm, {p, 0, one.blocks}};
                const bough::block_t blocks =
                    one.blocks == bough::natural_blocks ? one.algorithm.natural_blocks(p) : one.blocks;
                if (one.algorithm.check({p, 0, blocks})) continue;
                const timing times = time_plan(what, work);
                wrong += times.wrong;
                table.rows.push_back(
                    {from.kind, p, work.bytes(), one.algorithm.text(), blocks, times.quantile_ns(0.5)});
            }
        }
    print(std::cout, {{"collective", name_of(c)},
                      {"transport", typed.transport},
                      {"cores", std::max(1u, std::thread::hardware_concurrency())},
                      {"op", "plus"},
                      {"type", "f64"},
                      {"iterations", iterations},
                      {"right", wrong == 0},
                      {"rows", json_of(table)}});
    return wrong == 0 ? 0 : 1;
}

} // namespace cli
