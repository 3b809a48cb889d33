// SPDX-License-Identifier: BSL-1.0
// bough run: runs a collective on real ranks, checks every element, and times it beside what the model expects.
#include "catalogue.hpp"
#include "commands.hpp"
#include "costs.hpp"
#include "json.hpp"
#include "parse.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <vector>

namespace cli {

namespace {

constexpr bough::rank_t most_ranks = 256;
constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30; // input and output of all ranks

struct line {
    std::uint64_t bytes = 0;
    std::string algorithm;
    timing times;
    double predicted_ns = 0;
};

// What is asked for at one size.
struct question {
    problem what;
    workload work;
};

std::vector<std::uint64_t> parse_bytes(const run_arguments& typed, const workload& work, bough::rank_t ranks) {
    const auto sizes = parse_sizes("--bytes", typed.bytes);
    for (const std::uint64_t bytes : sizes) {
        if (bytes % work.op.element_size != 0)
            throw usage_error("--bytes", std::to_string(bytes) + " bytes are no whole number of " + typed.type);
        if (bytes > most_bytes / 2 / ranks)
            throw usage_error("--bytes", size_text(bytes) + " on each of " + std::to_string(ranks) +
                                             " ranks is too much: all of them together may have " +
                                             size_text(most_bytes / 2));
    }
    return sizes;
}

// A thousand, or fewer where they would take long.
std::size_t default_iterations(std::uint64_t bytes, bough::rank_t ranks) {
    constexpr std::uint64_t about_a_second = std::uint64_t{1} << 29;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(about_a_second / ((bytes + 4096) * ranks), 5, 1000));
}

std::vector<algorithm> algorithms_of(const run_arguments& typed, collective c) {
    if (typed.algorithm == "all" || typed.algorithm == "auto") {
        if (!typed.degree.empty())
            throw usage_error("--degree", "goes with one algorithm, not with " + typed.algorithm);
        return all_algorithms(c);
    }
    return {find_algorithm(c, {typed.algorithm, parse_degree(typed.degree), false})};
}

double price(const measured_costs& costs, const question& q) {
    return with_plan(
        q.what, [&](const auto& plan) { return predicted_ns(costs, plan, q.work.bytes(), q.work.op.element_size); });
}

line answer(const measured_costs& costs, const question& q) {
    return {q.work.bytes(), text_of(q.what.algorithm),
            with_plan(q.what, [&](const auto& plan) { return time_plan(plan, q.work); }), price(costs, q)};
}

void print_text(std::ostream& out, const std::vector<line>& lines) {
    out << "   bytes  algorithm              runs    min us  median us    p99 us  predicted us\n";
    for (const line& l : lines) {
        out << std::setw(8) << size_text(l.bytes) << "  " << std::left << std::setw(21) << l.algorithm << std::right
            << std::setw(6) << l.times.ns.size() << std::setw(10) << us_text(l.times.ns.front()) << std::setw(11)
            << us_text(l.times.quantile_ns(0.5)) << std::setw(10) << us_text(l.times.quantile_ns(0.99)) << std::setw(14)
            << us_text(l.predicted_ns);
        if (l.times.wrong != 0) out << "  WRONG: " << l.times.wrong << " of " << l.times.checked << " elements";
        out << '\n';
    }
}

json json_of(const std::vector<line>& lines) {
    json list = json::array();
    for (const line& l : lines)
        list.push_back({{"bytes", l.bytes},
                        {"algorithm", l.algorithm},
                        {"runs", l.times.ns.size()},
                        {"min_ns", l.times.ns.front()},
                        {"median_ns", l.times.quantile_ns(0.5)},
                        {"p99_ns", l.times.quantile_ns(0.99)},
                        {"predicted_ns", l.predicted_ns},
                        {"checked", l.times.checked},
                        {"wrong", l.times.wrong}});
    return list;
}

} // namespace

int run(const run_arguments& typed) {
    check_transport(typed.transport);
    const collective c = find_collective(typed.collective);
    const auto ranks = static_cast<bough::rank_t>(parse_number("--ranks", typed.ranks, 1, most_ranks));
    const auto root = static_cast<bough::rank_t>(parse_number("--root", typed.root, 0, ranks - 1));
    workload work = find_workload(typed.op, typed.type);
    const auto sizes = c == collective::barrier ? std::vector<std::uint64_t>{0} : parse_bytes(typed, work, ranks);
    const auto algorithms = algorithms_of(typed, c);
    std::size_t iterations = 0;
    if (!typed.iterations.empty())
        iterations = static_cast<std::size_t>(parse_number("--iterations", typed.iterations, 1, 1'000'000));

    // A quick look at the costs: enough to predict from, not to publish.
    const std::size_t quick = iterations == 0 ? 31 : std::min<std::size_t>(iterations, 31);
    const measured_costs costs =
        measure_in_process(std::clamp<bough::rank_t>(ranks, 3, 8), {.repetitions = static_cast<std::uint32_t>(quick)});
    std::vector<line> lines;
    for (const std::uint64_t bytes : sizes) {
        work.count = bytes / work.op.element_size;
        work.iterations = iterations != 0 ? iterations : default_iterations(bytes, ranks);
        std::vector<question> questions;
        for (const algorithm& a : algorithms) questions.push_back({{c, a, {.size = ranks, .root = root}}, work});
        if (typed.algorithm == "auto") {
            const auto cheaper = [&](const question& a, const question& b) {
                return price(costs, a) < price(costs, b);
            };
            questions = {*std::min_element(questions.begin(), questions.end(), cheaper)};
        }
        for (const question& q : questions) lines.push_back(answer(costs, q));
    }
    const bool right = std::all_of(lines.begin(), lines.end(), [](const line& l) { return l.times.wrong == 0; });

    if (typed.format == "json") {
        print(std::cout, {{"collective", name_of(c)},
                          {"ranks", ranks},
                          {"root", root},
                          {"transport", typed.transport},
                          {"cores", costs.cores},
                          {"op", typed.op},
                          {"type", typed.type},
                          {"right", right},
                          {"lines", json_of(lines)}});
        return right ? 0 : 1;
    }
    std::cout << name_of(c) << " over " << ranks << (ranks == 1 ? " rank" : " ranks") << ", " << typed.transport
              << ": threads on " << costs.cores << (costs.cores == 1 ? " core" : " cores");
    if (c != collective::barrier && c != collective::broadcast) std::cout << "; " << typed.op << " on " << typed.type;
    if (typed.algorithm == "auto") std::cout << "; the algorithm that the model prefers";
    std::cout << "\n";
    print_text(std::cout, lines);
    std::uint64_t checked = 0;
    for (const line& l : lines) checked += l.times.checked;
    if (c != collective::barrier)
        std::cout << (right ? "right: " : "WRONG: ") << checked
                  << " elements of results compared with a sequential fold, bit by bit\n";
    return right ? 0 : 1;
}

} // namespace cli
