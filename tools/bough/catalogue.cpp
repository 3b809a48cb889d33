// SPDX-License-Identifier: BSL-1.0
// From names and numbers that were typed to a collective, an algorithm and a plan.
#include "catalogue.hpp"

#include "algorithms.hpp"
#include "parse.hpp"
#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/concepts/step_sink.hpp>

#include <array>
#include <utility>

namespace cli {

namespace {

constexpr std::array<std::string_view, 13> names{
    "reduce",   "allreduce",           "broadcast",         "barrier", "gather",
    "scatter",  "reduce_scatter",      "allgather",         "scan",    "exscan",
    "alltoall", "neighbour_allgather", "neighbour_alltoall"};
constexpr std::array<collective, 11> collectives{
    collective::reduce, collective::allreduce, collective::broadcast,      collective::barrier,
    collective::gather, collective::scatter,   collective::reduce_scatter, collective::allgather,
    collective::scan,   collective::exscan,    collective::alltoall};

constexpr std::array<collective, 2> with_neighbours{collective::neighbour_allgather, collective::neighbour_alltoall};

std::string joined(std::span<const collective> all) {
    std::string text;
    for (const collective c : all) text += (text.empty() ? "" : ", ") + std::string(name_of(c));
    return text;
}

} // namespace

std::span<const collective> all_collectives() { return collectives; }

const char* name_of(collective c) { return names[static_cast<std::size_t>(c)].data(); }

std::optional<collective> collective_of(std::string_view name) {
    for (const collective c : collectives)
        if (names[static_cast<std::size_t>(c)] == name) return c;
    return std::nullopt;
}

collective find_collective(std::string_view name) {
    if (const auto c = collective_of(name)) return *c;
    for (const collective n : with_neighbours)
        if (name_of(n) == name) throw usage_error("COLLECTIVE", std::string(name) + " is not for this command");
    throw usage_error("COLLECTIVE", "there is no '" + std::string(name) + "'; known are " + joined(collectives));
}

std::optional<collective> any_collective_of(std::string_view name) {
    for (const collective n : with_neighbours)
        if (name_of(n) == name) return n;
    return collective_of(name);
}

collective find_any_collective(std::string_view name) {
    if (const auto c = any_collective_of(name)) return *c;
    throw usage_error("COLLECTIVE", "there is no '" + std::string(name) + "'; known are " + joined(collectives) + ", " +
                                        joined(with_neighbours));
}

bool combines(collective c) {
    return !has_neighbours(c) && with_goal(c, [](auto goal) { return decltype(goal)::combines; }) &&
           c != collective::barrier;
}

bool has_rank_blocks(collective c) {
    return c == collective::gather || c == collective::scatter || c == collective::reduce_scatter ||
           c == collective::allgather || c == collective::alltoall || has_neighbours(c);
}

std::string known_algorithms(collective c) {
    if (has_neighbours(c)) return "direct_neighbours, by_dimension";
    std::string text = has_trees(c) ? known_shapes() : "";
    for (const named_algorithm& a : named_algorithms(c)) text += (text.empty() ? "" : ", ") + std::string(a.name);
    if (has_packed_trees(c)) text += ", packed_trees";
    return text;
}

bool has_packed_trees(collective c) {
    return c == collective::broadcast || c == collective::reduce || c == collective::allreduce ||
           c == collective::allgather || c == collective::reduce_scatter;
}

bough::any_algorithm find_algorithm(collective c, const algorithm_name& wanted, std::string_view argument) {
    if (has_trees(c))
        if (const auto shape = find_shape(wanted.name, wanted.degree)) {
            if (!wanted.extents.empty()) throw usage_error("--extents", "a tree has no extents to choose");
            if (wanted.ordered && !shape->rank_ordered())
                throw usage_error("--ordered",
                                  shape->name() + " cannot keep rank order: its subtrees are not intervals of ranks");
            return tree_algorithm(c, *shape, wanted.ordered);
        }
    for (const named_algorithm& a : named_algorithms(c)) {
        if (a.name != wanted.name) continue;
        if (wanted.degree && !a.of_degree) throw usage_error("--degree", wanted.name + " has no degree to choose");
        if (wanted.ordered) throw usage_error("--ordered", wanted.name + " is no tree: there is nothing to choose");
        if (!wanted.extents.empty()) {
            if (!a.of_grid)
                throw usage_error("--extents", wanted.name + " is not for tori: it has no extents to choose");
            return a.of_grid(parse_extents("--extents", wanted.extents), wanted.degree.value_or(0));
        }
        return wanted.degree ? a.of_degree(*wanted.degree) : a.algorithm;
    }
    if (wanted.name == "packed_trees" && has_packed_trees(c))
        throw usage_error(argument, "packed_trees needs a --network, for which its trees are packed");
    throw usage_error(argument,
                      std::string(name_of(c)) + " has no '" + wanted.name + "'; known are " + known_algorithms(c));
}

bough::any_algorithm find_algorithm(collective c, const algorithm_name& wanted, const bough::neighbourhood& around) {
    for (const auto& [typed, name] :
         {std::pair{wanted.degree.has_value(), "--degree"}, std::pair{wanted.ordered, "--ordered"},
          std::pair{!wanted.extents.empty(), "--extents"}})
        if (typed) throw usage_error(name, "does not go with --neighbours");
    const auto of = [&](const auto& goal) -> bough::any_algorithm {
        if (wanted.name == "direct_neighbours") return bough::direct_neighbours{}.algorithm_for(goal);
        if (wanted.name == "by_dimension") return bough::by_dimension{}.algorithm_for(goal);
        throw usage_error("ALGORITHM",
                          std::string(name_of(c)) + " has no '" + wanted.name + "'; known are " + known_algorithms(c));
    };
    return c == collective::neighbour_allgather ? of(bough::goal::neighbour_allgather{around})
                                                : of(bough::goal::neighbour_alltoall{around});
}

namespace {

template <class Parse>
std::vector<std::uint64_t> sizes_of(collective c, const std::string& typed, const char* absent, Parse&& parse) {
    if (c == collective::barrier) {
        if (!typed.empty()) throw usage_error("--bytes", "a barrier moves no data: leave it out");
        return {0};
    }
    return parse("--bytes", typed.empty() ? absent : typed);
}

} // namespace

std::vector<std::uint64_t> bytes_of(collective c, const std::string& typed, const char* absent) {
    return sizes_of(c, typed, absent, parse_sizes);
}
std::uint64_t one_size_of(collective c, const std::string& typed, const char* absent) {
    const auto parse = [](std::string_view argument, std::string_view text) {
        return std::vector<std::uint64_t>{parse_size(argument, text)};
    };
    return sizes_of(c, typed, absent, parse).front();
}
std::vector<std::uint64_t> byte_range_of(collective c, const std::string& typed, const char* absent) {
    return sizes_of(c, typed, absent, parse_size_range);
}

std::string text_of(const bough::any_algorithm& a) { return a.text().c_str(); }
std::string text_of(const bough::candidate& c) { return c.text().c_str(); }

std::vector<bough::any_algorithm> all_algorithms(collective c) {
    std::vector<bough::any_algorithm> all;
    if (has_trees(c))
        for (const any_shape& shape :
             {any_shape(bough::binomial{}), any_shape(bough::binomial{bough::orientation::high}),
              any_shape(bough::fnomial{3}), any_shape(bough::fnomial{4}), any_shape(bough::fnomial{8}),
              any_shape(bough::degree_k{3}), any_shape(bough::kary{2}), any_shape(bough::chain{}),
              any_shape(bough::flat{}), any_shape(bough::bine{})}) {
            bough::any_algorithm tree = tree_algorithm(c, shape, false);
            // Not every tree has subtrees that are intervals of ranks, as some collectives need.
            if (!tree.check({.size = 13, .blocks = tree.natural_blocks(13)})) all.push_back(std::move(tree));
        }
    for (const named_algorithm& a : named_algorithms(c)) all.push_back(a.algorithm);
    return all;
}

void check(const problem& what, std::string_view argument) {
    auto at = what.at;
    if (at.root >= at.size)
        throw usage_error("--root", "there is no rank " + std::to_string(at.root) + " among " +
                                        std::to_string(at.size) + (at.size == 1 ? " rank" : " ranks"));
    if (what.collective == collective::barrier && at.blocks != 1 && at.blocks != bough::natural_blocks)
        throw usage_error("--blocks", "a barrier has exactly one block, the token");
    if (at.blocks == bough::natural_blocks) at.blocks = what.algorithm.natural_blocks(at.size);
    if (const bough::status bad = what.algorithm.check(at)) {
        const std::string_view sentence = bad.argument == nullptr ? "" : bad.argument;
        throw usage_error(sentence.starts_with("blocks")       ? "--blocks"
                          : sentence.starts_with("neighbours") ? "--neighbours"
                                                               : argument,
                          text_of(what.algorithm) + " refuses: " + std::string(sentence));
    }
}

namespace {

// What was typed as --neighbours, for a collective that has some.
neighbours neighbours_for(collective c, const std::string& typed) {
    if (has_neighbours(c) == typed.empty())
        throw usage_error("--neighbours", has_neighbours(c)
                                              ? std::string(name_of(c)) + " needs it: star:8x8, box:4x4x4, or a file"
                                              : std::string(name_of(c)) + " has none");
    return typed.empty() ? neighbours{} : parse_neighbours(typed);
}

// The rest of what was typed, checked.
problem completed(problem what, const plan_arguments& typed, bough::rank_t ranks) {
    what.at.size = ranks;
    what.at.root = static_cast<bough::rank_t>(parse_number("--root", typed.root, 0, bough::no_rank - 1));
    if (!typed.blocks.empty())
        what.at.blocks = static_cast<bough::block_t>(parse_number("--blocks", typed.blocks, 1, most_steps));
    if (ranks > most_steps && has_rank_blocks(what.collective))
        throw usage_error("--ranks", "at most " + std::to_string(most_steps) + ", since each has a block");
    check(what);
    return what;
}

} // namespace

problem parse_problem(const plan_arguments& typed) {
    const collective c = find_any_collective(typed.collective);
    if (typed.ranks.empty() && has_neighbours(c))
        return parse_problem(typed, neighbours_for(c, typed.neighbours).ranks);
    if (typed.ranks.empty()) throw usage_error("--ranks is required");
    return parse_problem(typed, parse_ranks(typed.ranks));
}

problem parse_problem(const plan_arguments& typed, bough::rank_t ranks) {
    const collective c = find_any_collective(typed.collective);
    neighbours who = neighbours_for(c, typed.neighbours);
    const algorithm_name name{typed.algorithm, parse_degree(typed.degree), typed.ordered, typed.extents};
    bough::any_algorithm algorithm = has_neighbours(c) ? find_algorithm(c, name, who.around) : find_algorithm(c, name);
    return completed({c, std::move(algorithm), {}, std::move(who)}, typed, ranks);
}

problem parse_problem(const plan_arguments& typed, bough::rank_t ranks, bough::any_algorithm algorithm) {
    return completed({find_collective(typed.collective), std::move(algorithm), {}, {}}, typed, ranks);
}

json json_of(const problem& what) {
    json document{{"collective", name_of(what.collective)},
                  {"algorithm", text_of(what.algorithm)},
                  {"size", what.at.size},
                  {"root", what.at.root},
                  {"blocks", with_plan(what, [](const auto& plan) { return plan.blocks(); })}};
    if (what.neighbours.ranks != 0) document["neighbours"] = what.neighbours.written;
    return document;
}

std::string text_of(const neighbours& who) {
    if (who.written.is_string()) return who.written;
    std::size_t edges = 0;
    for (const json& list : who.written) edges += list.size();
    return "a graph with " + std::to_string(edges) + (edges == 1 ? " edge" : " edges");
}

std::string text_of(const problem& what) {
    const auto& at = what.at;
    const auto blocks = with_plan(what, [](const auto& plan) { return plan.blocks(); });
    std::string text =
        std::string(name_of(what.collective)) + " by " + text_of(what.algorithm) + " over " + std::to_string(at.size) +
        (at.size == 1 ? " rank" : " ranks") + ", " +
        (what.neighbours.ranks != 0 ? "neighbours " + text_of(what.neighbours) : "root " + std::to_string(at.root)) +
        ", " + std::to_string(blocks) + (blocks == 1 ? " block" : " blocks");
    return text;
}

namespace {

// Calls f(rank, step) for each step of all ranks, or of one, up to the limits.
template <class F>
void for_each_affordable_step(const problem& what, std::optional<bough::rank_t> only, F&& f) {
    with_plan(what, [&](const auto& plan) {
        const std::uint64_t ranks = only ? 1 : plan.size();
        if (ranks > most_steps || plan.blocks() > most_steps / ranks)
            throw usage_error(
                ranks > most_steps || what.at.blocks == bough::natural_blocks ? "--ranks" : "--blocks",
                "that is too much to write out or to prove in memory: blocks times ranks may be at most " +
                    std::to_string(most_steps));
        std::uint64_t steps = 0;
        bough::rank_t rank = only.value_or(0);
        bough::step_sink sink{[&](const bough::step& s) {
            if (++steps > most_steps)
                throw usage_error("--ranks", "that is too much to write out or to prove in memory: more than " +
                                                 std::to_string(most_steps) + " steps; ask for fewer ranks or blocks");
            f(rank, s);
        }};
        for (const bough::rank_t last = only ? *only + 1 : plan.size(); rank != last; ++rank) plan.emit(rank, sink);
    });
}

} // namespace

std::uint64_t check_affordable(const problem& what, std::optional<bough::rank_t> only) {
    std::uint64_t steps = 0;
    for_each_affordable_step(what, only, [&](bough::rank_t, const bough::step&) { ++steps; });
    return steps;
}
std::vector<bough::schedule> affordable_schedules(const problem& what) {
    std::vector<bough::schedule> made;
    for_each_affordable_step(what, {}, [&](bough::rank_t r, const bough::step& s) {
        if (made.size() <= r) made.resize(r + std::size_t{1});
        made[r].steps.push_back(s);
    });
    made.resize(what.at.size); // ranks without steps
    return made;
}

} // namespace cli
