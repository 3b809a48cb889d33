// SPDX-License-Identifier: BSL-1.0
#include "catalogue.hpp"

#include "parse.hpp"
#include <bough/concepts/step_sink.hpp>

#include <array>

namespace cli {

namespace {

constexpr std::array<std::string_view, 4> collectives{"reduce", "allreduce", "broadcast", "barrier"};

bool has_recursive_doubling(collective c) { return c == collective::allreduce || c == collective::barrier; }

struct spelling {
    std::string operator()(const any_shape& s) const { return s.text(); }
    std::string operator()(const bough::ordered<any_shape>& s) const { return "ordered{" + s.shape.text() + "}"; }
    std::string operator()(const bough::recursive_doubling&) const { return "recursive_doubling"; }
    std::string operator()(const bough::dissemination&) const { return "dissemination"; }
};

} // namespace

const char* name_of(collective c) { return collectives[static_cast<std::size_t>(c)].data(); }

collective find_collective(std::string_view name) {
    for (std::size_t i = 0; i != collectives.size(); ++i)
        if (collectives[i] == name) return static_cast<collective>(i);
    throw usage_error("COLLECTIVE",
                      "there is no '" + std::string(name) + "'; known are reduce, allreduce, broadcast, barrier");
}

std::string known_algorithms(collective c) {
    std::string names = known_shapes();
    if (has_recursive_doubling(c)) names += ", recursive_doubling";
    if (c == collective::barrier) names += ", dissemination";
    return names;
}

algorithm find_algorithm(collective c, const algorithm_name& wanted) {
    if (const auto shape = find_shape(wanted.name, wanted.degree)) {
        if (!wanted.ordered) return *shape;
        if (shape->rank_ordered()) return bough::ordered<any_shape>{*shape};
        throw usage_error("--ordered",
                          shape->text() + " cannot keep rank order: its subtrees are not intervals of ranks");
    }
    const bool doubles = wanted.name == "recursive_doubling" && has_recursive_doubling(c);
    if (!doubles && !(wanted.name == "dissemination" && c == collective::barrier))
        throw usage_error("ALGORITHM",
                          std::string(name_of(c)) + " has no '" + wanted.name + "'; known are " + known_algorithms(c));
    if (wanted.degree) throw usage_error("--degree", wanted.name + " has no degree to choose");
    if (wanted.ordered) throw usage_error("--ordered", wanted.name + " is no tree: there is nothing to choose");
    if (doubles) return bough::recursive_doubling{};
    return bough::dissemination{};
}

std::string text_of(const algorithm& a) { return std::visit(spelling{}, a); }

std::vector<algorithm> all_algorithms(collective c) {
    const bough::binomial mirrored{bough::orientation::high};
    std::vector<algorithm> all{
        any_shape(bough::binomial{}), any_shape(mirrored),          any_shape(bough::fnomial{3}),
        any_shape(bough::fnomial{4}), any_shape(bough::fnomial{8}), any_shape(bough::degree_k{3}),
        any_shape(bough::kary{2}),    any_shape(bough::chain{}),    any_shape(bough::flat{})};
    if (has_recursive_doubling(c)) all.push_back(bough::recursive_doubling{});
    if (c == collective::barrier) all.push_back(bough::dissemination{});
    return all;
}

void check(const problem& what) {
    const auto& at = what.at;
    if (at.root >= at.size)
        throw usage_error("--root", "there is no rank " + std::to_string(at.root) + " among " +
                                        std::to_string(at.size) + (at.size == 1 ? " rank" : " ranks"));
    if (what.collective == collective::barrier && at.blocks != 1 && at.blocks != bough::natural_blocks)
        throw usage_error("--blocks", "a barrier has exactly one block, the token");
}

problem parse_problem(const plan_arguments& typed, bough::rank_t ranks) {
    problem what;
    what.collective = find_collective(typed.collective);
    what.algorithm = find_algorithm(what.collective, {typed.algorithm, parse_degree(typed.degree), typed.ordered});
    what.at.size = ranks;
    what.at.root = static_cast<bough::rank_t>(parse_number("--root", typed.root, 0, bough::no_rank - 1));
    if (!typed.blocks.empty())
        what.at.blocks = static_cast<bough::block_t>(parse_number("--blocks", typed.blocks, 1, most_steps));
    check(what);
    return what;
}

json json_of(const problem& what) {
    return {{"collective", name_of(what.collective)},
            {"algorithm", text_of(what.algorithm)},
            {"size", what.at.size},
            {"root", what.at.root},
            {"blocks", with_plan(what, [](const auto& plan) { return plan.blocks(); })}};
}

std::string text_of(const problem& what) {
    const auto& at = what.at;
    const auto blocks = with_plan(what, [](const auto& plan) { return plan.blocks(); });
    std::string text = std::string(name_of(what.collective)) + " by " + text_of(what.algorithm) + " over " +
                       std::to_string(at.size) + (at.size == 1 ? " rank" : " ranks") + ", root " +
                       std::to_string(at.root) + ", " + std::to_string(blocks) + (blocks == 1 ? " block" : " blocks");
    return text;
}

void bounded_sink::refuse() const {
    throw usage_error(argument_, "that is too much to write out or to prove in memory: more than " +
                                     std::to_string(most_steps) + " steps; ask for fewer ranks or blocks");
}

void check_affordable(const problem& what, std::optional<bough::rank_t> only) {
    with_plan(what, [&](const auto& plan) {
        const std::uint64_t ranks = only ? 1 : plan.size();
        bounded_sink sink("--ranks");
        if (ranks > most_steps || plan.blocks() > most_steps / ranks)
            throw usage_error(
                ranks > most_steps ? "--ranks" : "--blocks",
                "that is too much to write out or to prove in memory: blocks times ranks may be at most " +
                    std::to_string(most_steps));
        if (only)
            plan.emit(*only, sink);
        else
            for (bough::rank_t r = 0; r != plan.size(); ++r) plan.emit(r, sink);
    });
}

} // namespace cli
