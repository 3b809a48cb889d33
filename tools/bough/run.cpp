// SPDX-License-Identifier: BSL-1.0
// bough run: runs a collective on real ranks, checks every element, and times it beside what the model expects.
#include "catalogue.hpp"
#include "commands.hpp"
#include "costs.hpp"
#include "emulation.hpp"
#include "json.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "party.hpp"
#include "timed_tree.hpp"
#include "traces.hpp"
#include <bough/model/arriving.hpp>
#include <bough/select/choose.hpp>

#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
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
    const auto sizes = bytes_of(find_collective(typed.collective), typed.bytes, "8,1K,64K,1M");
    check_whole(sizes, work, typed.type);
    for (const std::uint64_t bytes : sizes)
        if (bytes > most_bytes / 2 / ranks)
            throw usage_error("--bytes", size_text(bytes) + " on each of " + std::to_string(ranks) +
                                             " ranks is too much: all of them together may have " +
                                             size_text(most_bytes / 2));
    return sizes;
}

// A thousand, or fewer where they would take long.
std::size_t default_iterations(std::uint64_t bytes, bough::rank_t ranks) {
    constexpr std::uint64_t about_a_second = std::uint64_t{1} << 29;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(about_a_second / ((bytes + 4096) * ranks), 5, 1000));
}

// The algorithm that was typed; nothing for all and auto.
std::optional<bough::any_algorithm> named_algorithm(const run_arguments& typed, collective c, bough::rank_t ranks) {
    const bool packs = typed.algorithm == "packed_trees";
    if (!packs && !typed.network.empty()) throw usage_error("--network", "goes with packed_trees");
    if (typed.algorithm == "all" || typed.algorithm == "auto") {
        if (!typed.degree.empty())
            throw usage_error("--degree", "goes with one algorithm, not with " + typed.algorithm);
        return std::nullopt;
    }
    if (!packs || typed.network.empty() || !has_packed_trees(c))
        return find_algorithm(c, {typed.algorithm, parse_degree(typed.degree), false, typed.extents}, "--algorithm");
    plan_arguments plan;
    plan.collective = typed.collective;
    plan.algorithm = typed.algorithm;
    plan.degree = typed.degree;
    plan.extents = typed.extents;
    plan.network = typed.network;
    plan.root = typed.root;
    return parse_plan(plan, ranks).algorithm;
}

// The algorithms to run over a vector of so many bytes.
std::vector<bough::candidate> candidates_of(const run_arguments& typed,
                                            const std::optional<bough::any_algorithm>& named, collective c,
                                            const bough::dimensions& at, const bough::problem& what,
                                            const std::vector<std::uint64_t>& arrivals,
                                            const bough::any_cost_model& model) {
    if (named) return {{*named, at.blocks}};
    std::vector<bough::candidate> found;
    if (typed.algorithm == "auto") {
        const bough::candidate_list from = standard_candidates(c, at, what, {}, model, arrivals);
        return {bough::choose(from, at, what, model, {.in_a_loop = true}).winner().what};
    }
    for (const bough::any_algorithm& a : all_algorithms(c))
        if (!a.check({at.size, at.root, a.natural_blocks(at.size)})) found.push_back({a});
    return found;
}

// When each rank comes; nothing if all come together.
std::vector<std::uint64_t> parse_arrivals_of(const run_arguments& typed, bough::rank_t ranks) {
    if (typed.arrivals.empty()) return {};
    std::vector<std::uint64_t> made = parse_arrivals(typed.arrivals);
    if (made.size() != ranks)
        throw usage_error("--arrivals", "there are times of " + std::to_string(made.size()) + " ranks, not of " +
                                            std::to_string(ranks));
    constexpr std::uint64_t a_minute = 60'000'000'000;
    if (*std::max_element(made.begin(), made.end()) > a_minute)
        throw usage_error("--arrivals", "a rank comes a minute after the others at most");
    return made;
}
// The model with these arrivals, which outlive it.
template <class M>
bough::any_cost_model model_of(const M& costs, const std::vector<std::uint64_t>& arrivals) {
    if (arrivals.empty()) return costs;
    return bough::model::arriving<M>{costs, arrivals};
}

// Where the ranks are: threads of this process, or this process is one of them.
class ranks_of_run {
public:
    explicit ranks_of_run(party* mine) : mine_(mine) {}
    bool speaks() const { return mine_ == nullptr || mine_->rank() == 0; }
    timing time(const question& q) {
        return mine_ != nullptr ? mine_->time(q.what, q.work) : time_plan(q.what, q.work);
    }
    // Of processes the costs are measured over their own transport, if there are three; up to the longest message, or 64 KiB.
    measured_costs measure(bough::rank_t ranks, std::uint32_t runs, std::uint64_t longest) {
        const std::uint64_t long_bytes = longest_ = std::clamp<std::uint64_t>(longest / 8 * 8, 4096, 65536);
        is_measured_ = mine_ == nullptr || ranks >= 3;
        if (mine_ == nullptr)
            return measure_in_process(std::clamp<bough::rank_t>(ranks, 3, 8),
                                      {.repetitions = runs, .long_bytes = long_bytes});
        if (is_measured_) return mine_->measure({.max_ranks = 8, .repetitions = runs, .long_bytes = long_bytes});
        measured_costs assumed;
        assumed.cores = std::max(1u, std::thread::hardware_concurrency());
        assumed.found.fit.model = {.message_latency_ns = 500, .receive = {500, 0.1}, .combine = {10, 0.1}};
        return assumed;
    }
    bool is_measured() const { return is_measured_; }
    // Far beyond what was measured a prediction says nothing. Emulated costs are known for any length.
    bool is_predicted(const workload& work) const { return is_measured_ && (work.emulate || work.bytes() <= longest_); }

private:
    party* mine_;
    bool is_measured_ = true;
    std::uint64_t longest_ = 0; // message for which costs were measured
};

line answer(ranks_of_run& where, const bough::any_cost_model& model, const question& q, const bough::candidate& c) {
    const bough::plan_ref plan(q.what.algorithm, {q.what.at.size, q.what.at.root,
                                                  q.what.at.blocks == bough::natural_blocks
                                                      ? q.what.algorithm.natural_blocks(q.what.at.size)
                                                      : q.what.at.blocks});
    return {q.work.bytes(), text_of(c), where.time(q),
            where.is_predicted(q.work)
                ? model.price_ns(plan, {.bytes = q.work.bytes(), .element_bytes = q.work.op.element_size}) -
                      static_cast<double>(q.work.last_arrival_ns())
                : 0};
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
            << us_text(l.times.quantile_ns(0.99)) << std::setw(14)
            << (l.predicted_ns > 0 ? us_text(l.predicted_ns) : "-");
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
                        {"predicted_ns", l.predicted_ns > 0 ? json(l.predicted_ns) : json(nullptr)},
                        {"checked", l.times.checked},
                        {"wrong", l.times.wrong}});
    return list;
}

// What all ranks do, or this process for all of them. Pre: the transport exists.
int run_ranks(const run_arguments& typed, bough::rank_t ranks, party* mine) {
    ranks_of_run where(mine);
    const collective c = find_collective(typed.collective);
    const auto root = static_cast<bough::rank_t>(parse_number("--root", typed.root, 0, ranks - 1));
    workload work = find_workload(typed.op, typed.type);
    const auto sizes = parse_bytes(typed, work, ranks);
    const std::optional<bough::any_algorithm> named = named_algorithm(typed, c, ranks); // before measuring
    std::size_t iterations = 0;
    if (!typed.iterations.empty())
        iterations = static_cast<std::size_t>(parse_number("--iterations", typed.iterations, 1, 1'000'000));

    if (!typed.emulate.empty()) work.emulate = parse_emulation(typed.emulate, ranks);
    work.arrivals_ns = parse_arrivals_of(typed, ranks);
    bough::block_t blocks = bough::natural_blocks;
    if (!typed.blocks.empty()) {
        if (!named) throw usage_error("--blocks", "goes with one algorithm, not with " + typed.algorithm);
        blocks = static_cast<bough::block_t>(parse_number("--blocks", typed.blocks, 1, 1u << 20));
    }

    // A quick look at the costs: enough to predict from, not to publish.
    const std::size_t quick = iterations == 0 ? 31 : std::min<std::size_t>(iterations, 31);
    const measured_costs costs =
        where.measure(ranks, static_cast<std::uint32_t>(quick), *std::max_element(sizes.begin(), sizes.end()));
    // Emulated costs are far above those of threads: predictions are made of them alone.
    bough::model::heterogeneous emulated;
    if (work.emulate) emulated = costs_of(*work.emulate);
    const bough::any_cost_model model = work.emulate
                                            ? model_of(bough::model::heterogeneous_view{&emulated}, work.arrivals_ns)
                                            : model_of(costs.model(), work.arrivals_ns);
    std::vector<line> lines;
    for (const std::uint64_t bytes : sizes) {
        work.count = bytes / work.op.element_size;
        work.iterations = iterations != 0 ? iterations : default_iterations(bytes, ranks);
        const bough::dimensions at{.size = ranks, .root = root, .blocks = blocks};
        for (const bough::candidate& chosen :
             candidates_of(typed, named, c, at, {.bytes = work.bytes(), .element_bytes = work.op.element_size},
                           work.arrivals_ns, model)) {
            const question q{{c, chosen.algorithm, {ranks, root, chosen.blocks}}, work};
            check(q.what, "--algorithm");
            lines.push_back(answer(where, model, q, chosen));
        }
    }
    const bool right = std::all_of(lines.begin(), lines.end(), [](const line& l) { return l.times.wrong == 0; });

    if (!where.speaks()) return right ? 0 : 1;
    if (typed.format == "json") {
        print(std::cout, {{"collective", name_of(c)},
                          {"ranks", ranks},
                          {"root", root},
                          {"transport", typed.transport},
                          {"emulated", typed.emulate},
                          {"arrivals_ns", work.arrivals_ns},
                          {"cores", costs.cores},
                          {"op", typed.op},
                          {"type", typed.type},
                          {"right", right},
                          {"lines", json_of(lines)}});
        return right ? 0 : 1;
    }
    std::cout << name_of(c) << " over " << ranks << (ranks == 1 ? " rank" : " ranks") << ", " << typed.transport
              << (mine == nullptr ? ": threads on " : ": processes on ") << costs.cores
              << (costs.cores == 1 ? " core" : " cores");
    if (combines(c)) std::cout << "; " << typed.op << " on " << typed.type;
    if (work.emulate) std::cout << "; emulated: " << typed.emulate;
    if (!work.arrivals_ns.empty()) std::cout << "; from when the last rank has come";
    if (typed.algorithm == "auto")
        std::cout << "; the algorithm that "
                  << (where.is_measured() ? "the model prefers" : "is the best for assumed costs");
    std::cout << "\n";
    print_text(std::cout, lines);
    std::uint64_t checked = 0;
    for (const line& l : lines) checked += l.times.checked;
    if (c != collective::barrier)
        std::cout << (right ? "right: " : "WRONG: ") << checked
                  << " elements of results compared with a sequential fold, bit by bit\n";
    return right ? 0 : 1;
}

started_by parse_started_by(const std::string& launch) {
    for (const auto& [name, who] : {std::pair{"local", started_by::this_program},
                                    {"pmix", started_by::pmix},
                                    {"environment", started_by::environment}})
        if (launch == name) return who;
    throw usage_error("--launch", "there is no '" + launch + "'; known are local, pmix, environment");
}

} // namespace

int run(const run_arguments& typed) {
    const bool threads = typed.transport == "in_process", by_mpi = typed.transport == "mpi";
    check_transport(typed);
    const started_by who = parse_started_by(typed.launch);
    const bool is_launched = who != started_by::this_program;
    if (is_launched && (threads || by_mpi))
        throw usage_error("--launch", typed.launch + " goes with shared_memory, tcp, composite, fabric and verbs");
    if (!typed.emulate.empty() && !threads) throw usage_error("--emulate", "goes with in_process");
    const bool is_started = by_mpi || is_launched; // by another launcher
    if (!typed.trace.empty() && is_started)
        throw usage_error("--trace", "another launcher has started the ranks: set BOUGH_TRACE, and use 'bough trace'");
    bough::rank_t ranks = 0;
    if (!typed.ranks.empty() || !is_started) {
        if (typed.ranks.empty()) throw usage_error("--ranks is required");
        ranks = static_cast<bough::rank_t>(parse_number("--ranks", typed.ranks, 1, most_ranks));
    }
    if (!typed.nodes.empty() && ranks != 0) parse_number("--nodes", typed.nodes, 1, ranks);
    traced_job traced(typed.trace);
    const int result =
        threads ? run_ranks(typed, ranks, nullptr)
                : run_as_ranks(typed, ranks, who, [&](party& mine) { return run_ranks(typed, mine.size(), &mine); });
    traced.finish();
    return result;
}

} // namespace cli
