// SPDX-License-Identifier: BSL-1.0
// bough run: runs a collective on real ranks, checks every element, and times it beside what the model expects.
#include "catalogue.hpp"
#include "commands.hpp"
#include "costs.hpp"
#include "json.hpp"
#include "parse.hpp"
#include <bough/select/choose.hpp>

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

// The algorithms to run over a vector of so many bytes.
std::vector<bough::candidate> candidates_of(const run_arguments& typed, collective c, const bough::dimensions& at,
                                            const bough::problem& what, const measured_costs& costs) {
    if (typed.algorithm != "all" && typed.algorithm != "auto")
        return {{find_algorithm(c, {typed.algorithm, parse_degree(typed.degree), false})}};
    std::vector<bough::candidate> found;
    if (typed.algorithm == "auto") {
        const bough::decision d = bough::choose(standard_candidates(c, at, what.bytes), at, what, costs.model());
        return {d.winner().what};
    }
    for (const bough::any_algorithm& a : all_algorithms(c))
        if (!a.check({at.size, at.root, a.natural_blocks(at.size)})) found.push_back({a});
    return found;
}

line answer(const measured_costs& costs, const question& q, const bough::candidate& c) {
    const bough::plan_ref plan(q.what.algorithm, {q.what.at.size, q.what.at.root,
                                                  q.what.at.blocks == bough::natural_blocks
                                                      ? q.what.algorithm.natural_blocks(q.what.at.size)
                                                      : q.what.at.blocks});
    const bough::any_costs model = costs.model();
    return {q.work.bytes(), text_of(c), time_plan(q.what, q.work),
            model.price_ns(plan, {.bytes = q.work.bytes(), .element_bytes = q.work.op.element_size})};
}

void print_text(std::ostream& out, const std::vector<line>& lines) {
    std::size_t width = 20;
    for (const line& l : lines) width = std::max(width, l.algorithm.size());
    out << "   bytes  algorithm" << std::string(width - 9, ' ')
        << "    runs    min us  median us    p99 us  predicted us\n";
    for (const line& l : lines) {
        out << std::setw(8) << size_text(l.bytes) << "  " << std::left << std::setw(static_cast<int>(width))
            << l.algorithm << std::right << std::setw(8) << l.times.ns.size() << std::setw(10)
            << us_text(l.times.ns.front()) << std::setw(11) << us_text(l.times.quantile_ns(0.5)) << std::setw(10)
            << us_text(l.times.quantile_ns(0.99)) << std::setw(14) << us_text(l.predicted_ns);
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
    if (typed.algorithm != "all" && typed.algorithm != "auto")
        find_algorithm(c, {typed.algorithm, parse_degree(typed.degree), false}); // refuses before anything is measured
    else if (!typed.degree.empty())
        throw usage_error("--degree", "goes with one algorithm, not with " + typed.algorithm);
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
        const bough::dimensions at{.size = ranks, .root = root};
        for (const bough::candidate& chosen :
             candidates_of(typed, c, at, {.bytes = work.bytes(), .element_bytes = work.op.element_size}, costs)) {
            const question q{{c, chosen.algorithm, {ranks, root, chosen.blocks}}, work};
            check(q.what);
            lines.push_back(answer(costs, q, chosen));
        }
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
    if (combines(c)) std::cout << "; " << typed.op << " on " << typed.type;
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
