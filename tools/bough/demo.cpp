// SPDX-License-Identifier: BSL-1.0
// bough demo: what a newcomer sees first. Measures, chooses a tree, draws it, proves it, breaks it;
// then reduces numbers on threads, checks every bit of the result, and compares the time with what
// was predicted.
#include "demo.hpp"

#include "commands.hpp"
#include "numbers.hpp"
#include "parse.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/simulate/export_svg.hpp>
#include <bough/simulate/trace.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>
#include <bough/verify/verify.hpp>

#include <array>
#include <cstdio>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <stdexcept>
#include <string>

namespace cli {

namespace {

using bough::rank_t;

constexpr rank_t ranks = demo_ranks;
constexpr std::array<std::size_t, 3> lengths{1, 24, demo_groups}; // of messages, in summaries
constexpr std::size_t most_bytes = demo_groups * sizeof(summary);

auto plan_of(rank_t degree) { return bough::plan_reduce(bough::fnomial{degree}, {.size = ranks}); }

// Fixed, so that columns stay columns.
std::string us(double ns, int width) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%*.1f", width, ns / 1000);
    return text.data();
}

double price_ns(const demo_costs& costs, rank_t degree, std::size_t length) {
    const std::uint64_t bytes = length * sizeof(summary);
    return bough::model::walk(plan_of(degree), costs.model, bytes, sizeof(summary)).makespan_ns;
}

// The cheapest degree, the smallest of equals.
rank_t best_degree(const demo_costs& costs, std::size_t length) {
    rank_t best = 2;
    for (rank_t degree = 2; degree <= ranks; ++degree)
        if (price_ns(costs, degree, length) < price_ns(costs, best, length)) best = degree;
    return best;
}

// A tree, one rank a line, children in the order in which a reduction receives them.
void draw(std::ostream& out, const bough::Tree auto& tree, rank_t rank, const std::string& margin) {
    for (rank_t i = tree.child_count(rank); i-- != 0;) {
        const rank_t child = tree.child(rank, i);
        out << margin << (i == 0 ? "`-- " : "|-- ") << child << '\n';
        draw(out, tree, child, margin + (i == 0 ? "    " : "|   "));
    }
}

void print_costs(std::ostream& out, const demo_costs& costs) {
    out << "1. Measure. " << ranks << " ranks are threads here, on " << costs.cores
        << (costs.cores == 1 ? " core" : " cores") << ". A message costs, in us:\n     bytes            ";
    for (const std::size_t length : lengths) out << std::setw(9) << length * sizeof(summary);
    const auto row = [&](const char* what, auto ns) {
        out << "\n     " << what;
        for (const std::size_t length : lengths) out << us(ns(length * sizeof(summary)), 9);
    };
    row("L  on its way    ", [&](std::uint64_t) { return costs.model.message_latency_ns; });
    row("r  to receive    ", [&](std::uint64_t bytes) { return costs.model.receive.at_ns(bytes); });
    row("c  to combine    ", [&](std::uint64_t bytes) { return costs.model.combine.at_ns(bytes); });
    out << "\n\n";
}

rank_t choose_degree(std::ostream& out, const demo_costs& costs) {
    constexpr std::array<rank_t, 6> shown{2, 3, 4, 5, 7, ranks};
    out << "2. Choose. All f-nomial trees, priced step by step at these costs, in us:\n     degree     ";
    for (const rank_t degree : shown) out << std::setw(8) << degree;
    out << "   best of 2.." << ranks << '\n';
    for (const std::size_t length : lengths) {
        out << std::setw(10) << length * sizeof(summary) << " bytes";
        for (const rank_t degree : shown) out << us(price_ns(costs, degree, length), 8);
        out << std::setw(7) << best_degree(costs, length) << '\n';
    }
    const rank_t best = best_degree(costs, demo_groups);
    const bough::tree tree(bough::fnomial{best}, ranks);
    out << "   (degree 2 is the binomial tree, " << ranks << " a star.) For " << most_bytes << " bytes, degree " << best
        << ":\n\n     0\n";
    draw(out, tree, 0, "     ");
    out << '\n';
    return best;
}

bool print_proof(std::ostream& out, const bough::verdict& v) {
    out << "3. Prove, before a byte moves. ";
    if (!v) {
        out << "The plan is WRONG: " << bough::to_string(v) << '\n';
        return false;
    }
    out << "It cannot deadlock, every send meets its receive,\n"
        << "   each contribution counts exactly once. " << v.traits.messages << " messages in " << v.traits.rounds
        << " rounds.\n\n";
    return true;
}

// Two mistakes of one step each, and what the proof says of them.
bool print_broken(std::ostream& out, rank_t degree) {
    const auto plan = plan_of(degree);
    const bough::tree tree(bough::fnomial{degree}, ranks);
    rank_t parent = 1;
    while (parent != ranks && tree.child_count(parent) == 0) ++parent;
    if (parent == ranks) parent = 0;            // a star
    const rank_t child = tree.child(parent, 0); // the last one that it receives from

    std::vector<bough::schedule> right;
    std::vector<bough::block_t> scratch;
    for (rank_t rank = 0; rank != ranks; ++rank) {
        right.push_back(plan.schedule_of(rank));
        scratch.push_back(plan.scratch(rank));
    }
    bool found = true;
    const auto say = [&](const std::vector<bough::schedule>& steps) {
        const bough::verdict v = bough::verify_schedules(plan.goal(), plan.at(), steps, scratch);
        found = found && !v;
        std::string text = bough::to_string(v);
        if (const std::size_t colon = text.find(": "); colon != std::string::npos && text.size() > 75)
            text.replace(colon + 1, 1, "\n       ");
        out << "     " << text << '\n';
    };
    out << "4. Break it. Rank " << parent << " forgets to combine what it received from " << child
        << ". The verdict:\n";
    std::vector<bough::schedule> wrong = right;
    std::vector<bough::step>& steps = wrong[parent].steps;
    const auto taken = std::find_if(steps.begin(), steps.end(), [&](const bough::step& s) { return s.peer == child; });
    steps.erase(std::find_if(taken, steps.end(), [](const bough::step& s) { return s.verb == bough::verb::combine; }));
    say(wrong);
    const rank_t other = parent == 1 ? 2 : parent - 1;
    out << "   Or rank " << child << " sends to rank " << other << " instead:\n";
    wrong = right;
    wrong[child].steps.back().peer = other;
    say(wrong);
    out << '\n';
    return found;
}

bool print_run(std::ostream& out, const number_file& file, const demo_run& done) {
    const std::span<const double> numbers(file.numbers);
    summary all;
    for (const summary& s : done.result) all = merge{}(all, s);
    out << "5. Run. " << numbers.size() << " numbers from " << file.path << ",\n   number i in group i mod "
        << demo_groups << ". Each of " << ranks << " threads sums up its share by groups;\n"
        << "   the tree merges " << ranks << " x " << demo_groups << " sums:\n     " << all.count << " numbers, lowest "
        << all.low << ", highest " << all.high << ", mean " << std::setprecision(10)
        << bough::exact_sum{}.lower(all.sum) / static_cast<double>(all.count) << std::setprecision(6) << '\n';
    const bool right = done.result == summaries_of(numbers, 0, numbers.size());
    out << "6. Check against one thread that adds up all numbers in order: "
        << (right ? "right.\n   All " + std::to_string(most_bytes) +
                        " bytes are equal: the bits of exact_sum depend on no order.\n"
                  : "WRONG.\n");
    return right;
}

// As walk(), but with so many cores in all. What was measured as latency is then the change from
// one thread to another, and takes a core, too. The rank that can go on first gets the first free
// core.
double shared_cores_ns(const demo_costs& costs, rank_t degree) {
    const bough::tree tree(bough::fnomial{degree}, ranks);
    const double message_ns = costs.model.message_latency_ns + costs.model.message_ns(most_bytes);
    std::vector<double> done_ns(ranks, costs.model.startup_ns), cores(costs.cores, 0.0);
    std::vector<rank_t> left(ranks); // messages that a rank has to take in; the next one comes from child left - 1
    for (rank_t r = 0; r != ranks; ++r) left[r] = tree.child_count(r);
    for (rank_t message = 1; message != ranks; ++message) {
        rank_t next = bough::no_rank;
        double begin_ns = 0;
        for (rank_t r = 0; r != ranks; ++r) {
            if (left[r] == 0) continue;
            const rank_t child = tree.child(r, left[r] - 1);
            const double here_ns = std::max(done_ns[r], done_ns[child]);
            if (left[child] != 0 || (next != bough::no_rank && here_ns >= begin_ns)) continue;
            next = r;
            begin_ns = here_ns;
        }
        double& core = *std::min_element(cores.begin(), cores.end());
        done_ns[next] = core = std::max(begin_ns, core) + message_ns;
        --left[next];
    }
    return done_ns[0];
}

void print_comparison(std::ostream& out, const demo_costs& costs, rank_t degree, const demo_run& done) {
    const double median_ns = done.ns[done.ns.size() / 2];
    double model_ns = price_ns(costs, degree, demo_groups);
    out << "7. Compare. Measured: " << us(median_ns, 0) << " us, the median of " << done.ns.size() << " (fastest "
        << us(done.ns.front(), 0) << ").\n   The model says " << us(model_ns, 0) << " us with a core for each rank";
    if (costs.cores < ranks) {
        model_ns = shared_cores_ns(costs, degree);
        out << ", and\n   " << us(model_ns, 0) << " us where " << ranks << " ranks take turns on " << costs.cores
            << (costs.cores == 1 ? " core" : " cores");
    }
    out << ".\n   Measured is " << std::setprecision(2) << median_ns / model_ns << std::setprecision(6)
        << " times that; what else runs here is not in it.\n";
}

void write_picture(std::ofstream& file, const demo_costs& costs, rank_t degree) {
    const bough::sim_trace run =
        bough::trace(plan_of(degree), costs.model, {.bytes = most_bytes, .element_bytes = sizeof(summary)});
    bough::export_svg(file, run,
                      {.title = "reduce over " + std::to_string(ranks) + " ranks by the f-nomial tree of degree " +
                                std::to_string(degree),
                       .note = std::to_string(most_bytes) + " bytes, with the costs of this machine; L " +
                               us(costs.model.message_latency_ns, 0) + ", r + c " +
                               us(costs.model.message_ns(most_bytes), 0) + " us"});
    file.close();
    if (!file) throw std::runtime_error("--picture: cannot be written");
}

} // namespace

int demo(const demo_arguments& typed) {
    const number_file file =
        typed.file.empty() ? read_numbers(find_example("temperatures.txt")) : read_numbers(typed.file);
    std::ofstream picture;
    if (!typed.picture.empty()) {
        picture.open(typed.picture);
        if (!picture) throw usage_error("--picture", "'" + typed.picture + "' cannot be written");
    }
    std::ostream& out = std::cout;
    out << "bough: a reduction from measurement to result.\n\n" << std::flush;
    const demo_costs costs = measure_for_demo();
    print_costs(out, costs);
    const rank_t degree = choose_degree(out, costs);
    if (!print_proof(out, bough::verify(plan_of(degree))) || !print_broken(out, degree)) return 1;
    const demo_run done = reduce_on_threads(file.numbers, degree);
    if (!print_run(out, file, done)) return 1;
    print_comparison(out, costs, degree, done);
    if (picture.is_open()) {
        write_picture(picture, costs, degree);
        out << "8. See it. The run as the model has it, ranks down and time across:\n   " << typed.picture << '\n';
    }
    return 0;
}

} // namespace cli
