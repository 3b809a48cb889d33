// SPDX-License-Identifier: BSL-1.0
// Reading what the page asks.
#include "question.hpp"

#include "algorithms.hpp"
#include "parse.hpp"

#include <algorithm>
#include <utility>

namespace playground {

namespace {

std::string with_braces(std::string text) { return text.back() == '}' ? text : text + "{}"; }

// A shape as one writes it in C++: bough::binomial{}, bough::fnomial{.degree = 4}.
std::string cpp_of(const cli::any_shape& shape) {
    std::string text = "bough::" + with_braces(shape.name());
    constexpr std::string_view enumerator = "{orientation";
    if (const auto at = text.find(enumerator); at != std::string::npos) text.insert(at + 1, "bough::");
    return text;
}

// An algorithm as one writes it in C++: bough::circulant{.ports = 2}.
std::string cpp_of(const asked_plan& asked, const cli::algorithm_name& name) {
    if (asked.tree) {
        const std::string shape = cpp_of(*asked.tree), family = cli::text_of(asked.what.algorithm);
        return "bough::" + family.substr(0, family.find('{')) + '{' +
               (asked.ordered ? "bough::ordered{" + shape + '}' : shape) + '}';
    }
    const auto all = cli::named_algorithms(asked.what.collective);
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.name == name.name; });
    const std::string made = "bough::" + std::string(found->cpp);
    if (!name.degree) return with_braces(made);
    return made + "{." + std::string(found->degree_in_cpp) + " = " + std::to_string(*name.degree) + '}';
}

} // namespace

std::string question::value(std::string_view name, std::string_view absent) const {
    for (std::size_t at = 0; at < text_.size();) {
        const std::size_t end = std::min(text_.find('&', at), text_.size());
        const std::string_view item = text_.substr(at, end - at);
        const std::size_t equals = std::min(item.find('='), item.size());
        if (item.substr(0, equals) == name && equals != item.size()) return std::string(item.substr(equals + 1));
        at = end + 1;
    }
    return std::string(absent);
}

asked_plan parse_plan(const question& q) {
    cli::plan_arguments typed;
    typed.collective = q.value("collective", "allreduce");
    typed.algorithm = q.value("algorithm", "recursive_doubling");
    typed.degree = q.value("degree");
    typed.root = q.value("root", "0");
    typed.blocks = q.value("blocks");
    typed.ordered = q.value("ordered") == "1";
    const auto ranks = static_cast<bough::rank_t>(cli::parse_number("--ranks", q.value("ranks", "13"), 1, most_ranks));
    const cli::collective c = cli::find_collective(typed.collective); // none that has neighbours
    const cli::algorithm_name name{typed.algorithm, cli::parse_degree(typed.degree), typed.ordered};
    asked_plan asked{cli::parse_problem(typed, ranks, cli::find_algorithm(c, name)), {}, typed.ordered, {}, {}, 0, {}};
    if (cli::has_trees(c)) asked.tree = cli::find_shape(name.name, name.degree);
    asked.cpp = cpp_of(asked, name);
    asked.edits = parse_edits(q.value("edit"));
    for (const edit& e : asked.edits)
        if (e.rank >= ranks)
            throw cli::usage_error("edit", "there is no rank " + std::to_string(e.rank) + " to change");
    const std::string bytes = q.value("bytes");
    asked.bytes = cli::one_size_of(c, c == cli::collective::barrier ? "" : bytes, "4K");
    if (asked.bytes > std::uint64_t{1} << 40) throw cli::usage_error("--bytes", "at most 1024G");
    asked.model = cli::parse_timed_model(q.value("model", "2500,1500,1000,0.1,0"));
    return asked;
}

} // namespace playground
