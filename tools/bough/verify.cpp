// SPDX-License-Identifier: BSL-1.0
// bough verify: proves a plan, for one size or for a range of sizes; or the schedules of a file.
#include "catalogue.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "schedule_file.hpp"
#include <bough/schedule/print_verdict.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <vector>

namespace cli {

namespace {

// What was asked for, and what came out.
struct proof {
    cli::collective collective{};
    std::string algorithm;
    bough::rank_t root = 0;
    std::string question; // "reduce by binomial over 13 ranks, root 0, 1 block"
    bough::rank_t first = 1;
    std::vector<bough::verdict> verdicts; // of first, first + 1, ... ranks

    std::size_t right() const {
        return static_cast<std::size_t>(
            std::count_if(verdicts.begin(), verdicts.end(), [](const bough::verdict& v) { return bool(v); }));
    }
    bool all_right() const { return right() == verdicts.size(); }
};

proof prove_file(const std::string& path) {
    const schedule_file file = read_schedule_file(path);
    return {file.collective, file.algorithm,
            file.at.root,    "the " + std::string(name_of(file.collective)) + " in " + path,
            file.at.size,    {verify(file)}};
}

proof prove_plans(const plan_arguments& typed) {
    if (typed.collective.empty()) throw usage_error("COLLECTIVE is required, or --schedule FILE");
    if (typed.algorithm.empty()) throw usage_error("ALGORITHM is required");
    const bool by_neighbours = has_neighbours(find_any_collective(typed.collective)); // they are of one size
    if (typed.ranks.empty() && !by_neighbours) throw usage_error("--ranks is required");
    rank_range range = by_neighbours ? rank_range{} : parse_rank_range(typed.ranks);
    if (typed.algorithm == "packed_trees" && range.first != range.last)
        throw usage_error("--ranks", "one number for packed_trees, since its trees are made for that");
    problem what = by_neighbours ? parse_plan(typed) : parse_plan(typed, range.first);
    if (by_neighbours) range = {what.at.size, what.at.size};
    what.at.size = range.last;
    check_affordable(what);

    proof found{what.collective, text_of(what.algorithm), what.at.root, text_of(what), range.first, {}};
    if (range.first != range.last)
        found.question =
            found.question.replace(found.question.find(" over ") + 6, std::to_string(range.last).size(), typed.ranks);
    for (bough::rank_t size = range.first; size <= range.last; ++size) {
        what.at.size = size;
        found.verdicts.push_back(with_plan(what, [](const auto& plan) { return bough::verify(plan); }));
    }
    return found;
}

// The traits of all sizes: the least and the most of a figure, and for how many sizes an answer is yes.
void print_traits(std::ostream& out, const proof& found) {
    const auto print_row = [&](const trait& row, const std::string& value) {
        out << "  " << std::left << std::setw(20) << row.name << std::setw(14) << value << std::right << row.meaning
            << '\n';
    };
    const auto values_of = [&](const trait& row) {
        std::vector<std::uint64_t> values;
        for (const bough::verdict& v : found.verdicts)
            if (v) values.push_back(row.value(v.traits));
        std::sort(values.begin(), values.end());
        return values;
    };
    for (const trait& row : traits()) {
        const auto values = values_of(row);
        const std::string least = std::to_string(values.front()), most = std::to_string(values.back());
        print_row(row, least == most ? least : least + ".." + most);
    }
    if (found.collective == collective::barrier) return; // the rest is about values
    for (const trait& row : properties()) {
        const auto values = values_of(row);
        const auto no = static_cast<std::size_t>(std::count(values.begin(), values.end(), 0u));
        const std::size_t yes = values.size() - no;
        print_row(row, yes == 0 ? "no" : no == 0 ? "yes" : "for " + std::to_string(yes) + " sizes");
    }
}

void print_text(std::ostream& out, const proof& found) {
    const std::size_t sizes = found.verdicts.size();
    out << found.question << ": "
        << (!found.all_right() ? "WRONG"
            : sizes == 1       ? "proved"
                               : "proved for each of " + std::to_string(sizes) + " sizes")
        << '\n';
    for (std::size_t i = 0; i != sizes; ++i)
        if (!found.verdicts[i])
            out << "  " << found.first + i << " ranks: " << bough::to_string(found.verdicts[i]) << '\n';
    if (found.right() != 0) print_traits(out, found);
}

json json_of(const proof& found) {
    json document{{"collective", name_of(found.collective)},
                  {"algorithm", found.algorithm},
                  {"root", found.root},
                  {"sizes", json::array()}};
    for (std::size_t i = 0; i != found.verdicts.size(); ++i) {
        const bough::verdict& v = found.verdicts[i];
        json size{{"size", found.first + i}, {"right", bool(v)}};
        if (v)
            size["traits"] = cli::json_of(v.traits);
        else
            size["fault"] = {{"name", bough::fault_name(v.fault)}, {"sentence", bough::to_string(v)}};
        document["sizes"].push_back(std::move(size));
    }
    return document;
}

} // namespace

int verify(const verify_arguments& typed) {
    const plan_arguments& plan = typed.plan;
    if (!typed.schedule.empty() && !(plan.collective + plan.algorithm + plan.ranks).empty())
        throw usage_error("--schedule", "the file says what it is: leave out the rest");
    const proof found = typed.schedule.empty() ? prove_plans(plan) : prove_file(typed.schedule);
    if (plan.format == "json")
        print(std::cout, json_of(found));
    else
        print_text(std::cout, found);
    return found.all_right() ? 0 : 1;
}

} // namespace cli
