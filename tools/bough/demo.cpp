// SPDX-License-Identifier: BSL-1.0
// bough demo: what a newcomer sees first. Measures, chooses a tree, draws and proves it, reduces numbers, checks them.
#include "commands.hpp"
#include "costs.hpp"
#include "numbers.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/barrier.hpp>
#include <bough/communicator.hpp>
#include <bough/model/walk.hpp>
#include <bough/op/traits.hpp>
#include <bough/reduce.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/schedule/verify.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/depth.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cli {

// What travels in the demo: one message holds four results. All padding would be sent too, so there is none.
struct summary {
    double sum = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    std::uint64_t count = 0;
};

// The whole op: how the summaries of two neighbours become one. `lower` comes from the lower rank.
struct merge {
    summary operator()(const summary& lower, const summary& upper) const {
        return {lower.sum + upper.sum, std::min(lower.low, upper.low), std::max(lower.high, upper.high),
                lower.count + upper.count};
    }
};

} // namespace cli

// bough cannot see that into a callable.
template <>
inline constexpr bool bough::is_commutative_v<cli::merge> = true;

namespace cli {

namespace {

constexpr bough::rank_t ranks = 8;
constexpr std::size_t runs = 200;
constexpr bough::dimensions at{.size = ranks};

summary summary_of(std::span<const double> numbers) {
    summary s;
    for (const double x : numbers) s = merge{}(s, {x, x, x, 1});
    return s;
}

// The share of one rank: contiguous, as equal as possible.
std::span<const double> share_of(std::span<const double> numbers, bough::rank_t rank) {
    const auto begin = [&](std::size_t r) { return numbers.size() * r / ranks; };
    return numbers.subspan(begin(rank), begin(rank + std::size_t{1}) - begin(rank));
}

// A tree, one rank a line, children in the order in which a reduction receives them.
void draw(std::ostream& out, const bough::Tree auto& tree, bough::rank_t rank, const std::string& margin) {
    const bough::rank_t children = tree.child_count(rank);
    for (bough::rank_t i = children; i-- != 0;) {
        const bough::rank_t child = tree.child(rank, i);
        out << margin << (i == 0 ? "`-- " : "|-- ") << child << '\n';
        draw(out, tree, child, margin + (i == 0 ? "    " : "|   "));
    }
}

double price_ns(const measured_costs& costs, bough::rank_t degree) {
    return predicted_ns(costs, bough::plan_reduce(bough::fnomial{degree}, at), sizeof(summary), sizeof(summary));
}

void print_costs(std::ostream& out, const measured_costs& costs) {
    const bough::model::lrc& m = costs.model();
    out << "1. Measure. Ranks are threads: " << ranks << " of them on " << costs.cores
        << (costs.cores == 1 ? " core" : " cores") << ". A message of " << sizeof(summary) << " bytes costs\n"
        << "     L = " << us_text(m.message_latency_ns) << " us   on its way\n"
        << "     r = " << us_text(m.receive.at_ns(sizeof(summary))) << " us   to receive it\n"
        << "     c = " << us_text(m.combine.at_ns(sizeof(summary))) << " us   to combine it with what is there\n"
        << "     C = " << us_text(m.startup_ns) << " us   once, before anything else\n";
    if (ranks > costs.cores) out << "   (ranks take turns on the cores: that waiting is in these figures)\n";
}

// The cheapest degree, and what it beats. The smallest of equals.
bough::rank_t choose_degree(std::ostream& out, const measured_costs& costs) {
    out << "2. Choose. Each plan, walked step by step under these costs, takes\n    ";
    bough::rank_t best = 2;
    for (bough::rank_t degree = 2; degree <= ranks; ++degree) {
        if (price_ns(costs, degree) < price_ns(costs, best)) best = degree;
        out << " degree " << degree << ": " << us_text(price_ns(costs, degree))
            << (degree == ranks ? " us"
                : degree == 5   ? ",\n    "
                                : ",");
    }
    const bough::tree tree(bough::fnomial{best}, ranks);
    out << "\n   so: the f-nomial tree of degree " << best
        << ". Rank 0 is the root; results flow up, children in this order:\n\n     0\n";
    draw(out, tree, 0, "     ");
    out << "\n   on one line: " << bough::outline(tree) << '\n';
    return best;
}

bool print_proof(std::ostream& out, const bough::verdict& v) {
    if (!v) {
        out << "3. Prove. The schedule is WRONG: " << bough::to_string(v) << '\n';
        return false;
    }
    const bough::plan_traits& t = v.traits;
    out << "3. Prove. Before a byte moves: every send meets its receive, nothing can deadlock, and every\n"
        << "   contribution reaches the result exactly once. Counted on the way:\n"
        << "     " << t.messages << " messages in " << t.rounds << " rounds, the longest chain has " << t.hops << "; "
        << t.combines << " combines, at most " << t.combines_max << " on a rank;\n"
        << "     operands stay in rank order: "
        << (t.needs_commutative ? "no, op must commute" : "yes, op need not commute") << ".\n";
    return true;
}

struct outcome {
    summary result;
    std::vector<double> ns; // ascending
};

// The program that a user of bough would write: eight ranks, each with its share, and one call.
outcome reduce_on_threads(std::span<const double> numbers, bough::rank_t degree) {
    outcome done;
    bough::in_process world{ranks};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        const summary mine = summary_of(share_of(numbers, comm.rank()));
        for (std::size_t i = 0; i != runs; ++i) {
            summary all = mine;
            bough::barrier(comm);
            const std::uint64_t begin = comm.transport().now_ns();
            bough::reduce(comm, std::span(&all, 1), merge{}, bough::root{0}, bough::fnomial{degree});
            if (comm.rank() != 0) continue;
            done.ns.push_back(static_cast<double>(comm.transport().now_ns() - begin));
            done.result = all;
        }
    });
    std::sort(done.ns.begin(), done.ns.end());
    return done;
}

// The tree and the fold add in different orders, so that sums may differ by rounding, and by no more than this.
double rounding_bound(std::span<const double> numbers) {
    double magnitude = 0;
    for (const double x : numbers) magnitude += std::abs(x);
    return static_cast<double>(numbers.size()) * std::numeric_limits<double>::epsilon() * magnitude;
}

bool print_result(std::ostream& out, std::span<const double> numbers, const outcome& done) {
    const summary expected = summary_of(numbers);
    const summary& got = done.result;
    const double off = std::abs(got.sum - expected.sum);
    const bool right = got.low == expected.low && got.high == expected.high && got.count == expected.count &&
                       !(off > rounding_bound(numbers)); // an overflow is the same for both
    out << "     " << got.count << " numbers, lowest " << got.low << ", highest " << got.high << ", mean "
        << std::setprecision(10) << got.sum / static_cast<double>(got.count) << std::setprecision(6) << "\n"
        << "5. Check against one thread that adds them up in order: " << (right ? "right" : "WRONG")
        << "\n     lowest, highest and count agree exactly; the sums differ by " << off << "\n"
        << "     (another order of adding rounds differently, here by at most " << rounding_bound(numbers) << ")\n";
    return right;
}

} // namespace

int demo(const demo_arguments& typed) {
    const number_file file =
        typed.file.empty() ? read_numbers(find_example("temperatures.txt")) : read_numbers(typed.file);
    std::ostream& out = std::cout;
    out << "bough: a reduction from measurement to result.\n\n";
    const measured_costs costs = measure_in_process(ranks, {.repetitions = 51});
    print_costs(out, costs);
    const bough::rank_t degree = choose_degree(out, costs);
    if (!print_proof(out, bough::verify(bough::plan_reduce(bough::fnomial{degree}, at)))) return 1;

    out << "4. Run. " << file.numbers.size() << " numbers from " << file.path
        << ",\n   an eighth to each rank; each sums up its own, then the tree merges the " << ranks << " summaries:\n";
    const outcome done = reduce_on_threads(file.numbers, degree);
    const bool right = print_result(out, file.numbers, done);
    out << "6. Compare. One reduction took " << us_text(done.ns[done.ns.size() / 2]) << " us (median of "
        << done.ns.size() << "; fastest " << us_text(done.ns.front()) << "); the model said "
        << us_text(price_ns(costs, degree)) << " us.\n\n"
        << "Next: bough table     bough schedule reduce fnomial --degree " << degree << " --ranks " << ranks
        << "     bough run --help\n";
    return right ? 0 : 1;
}

} // namespace cli
