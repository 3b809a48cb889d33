// SPDX-License-Identifier: BSL-1.0
// bough simulate: runs a plan in virtual time, once or many times under noise.
#include "catalogue.hpp"
#include "commands.hpp"
#include "costs.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "progress.hpp"
#include "simulation.hpp"
#include <bough/select/plan_ref.hpp>
#include <bough/simulate/network_traffic.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/simulate/statistics.hpp>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace cli {

namespace {

constexpr bough::rank_t most_ranks = 1u << 26;        // about 4 gigabytes
constexpr bough::rank_t most_queued_ranks = 1u << 22; // of the discrete-event engine

// The plan, which tells how far it is: one step for each rank.
class watched_plan {
public:
    explicit watched_plan(const bough::plan_ref& plan) : plan_(plan) {}
    static constexpr int goal() noexcept { return 0; }
    bough::rank_t size() const noexcept { return plan_.size(); }
    bough::rank_t root() const noexcept { return plan_.root(); }
    bough::block_t blocks() const noexcept { return plan_.blocks(); }
    static constexpr bough::block_t scratch(bough::rank_t) noexcept { return 0; }
    void emit(bough::rank_t rank, bough::StepSink auto&& out) const {
        progress::step();
        plan_.emit(rank, out);
    }

private:
    bough::plan_ref plan_;
};

enum class figure { last, root, mean, waiting, lost };
figure parse_figure(const std::string& text) {
    for (const auto& [name, value] : {std::pair{"last", figure::last},
                                      {"root", figure::root},
                                      {"mean", figure::mean},
                                      {"waiting", figure::waiting},
                                      {"lost", figure::lost}})
        if (text == name) return value;
    throw usage_error("--measure", "there is no '" + text + "'; known are last, root, mean, waiting, lost");
}
const char* text_of(figure f) {
    switch (f) {
    case figure::last: return "until the last rank ends, from the last arrival";
    case figure::root: return "until the root ends, from the last arrival";
    case figure::mean: return "until a rank ends, on average, from time 0";
    case figure::waiting: return "spent waiting, per rank";
    case figure::lost: return "spent on steps and waiting, per rank";
    }
    return "";
}
double value_of(figure f, const bough::sim_result& r, bough::rank_t ranks) {
    switch (f) {
    case figure::last: return r.latency_ns();
    case figure::root: return r.root_finish_ns - r.last_arrival_ns;
    case figure::mean: return r.mean_finish_ns;
    case figure::waiting: return r.wait_ns / ranks;
    case figure::lost: return (r.wait_ns + r.busy_ns) / ranks;
    }
    return 0;
}

struct found {
    std::vector<bough::sim_result> results; // of each run
    std::optional<bough::sample> measured;  // the figure of each, without the highest
    std::size_t left_out = 0;
};

json json_of(const bough::sim_result& r) {
    return {{"makespan_ns", r.makespan_ns},
            {"last_rank", r.last_rank},
            {"root_finish_ns", r.root_finish_ns},
            {"first_finish_ns", r.first_finish_ns},
            {"mean_finish_ns", r.mean_finish_ns},
            {"last_arrival_ns", r.last_arrival_ns},
            {"busy_ns", r.busy_ns},
            {"wait_ns", r.wait_ns},
            {"away_ns", r.away_ns},
            {"messages", r.messages},
            {"bytes", r.bytes},
            {"events", r.events}};
}

void print_csv(std::ostream& out, const found& f, std::uint64_t seed, bool per_rank) {
    out << std::setprecision(17);
    if (per_rank) {
        out << "seed,rank,arrival_ns,finish_ns,busy_ns,wait_ns,away_ns\n";
        for (std::size_t i = 0; i != f.results.size(); ++i)
            for (std::size_t r = 0; r != f.results[i].ranks.size(); ++r) {
                const bough::rank_figures& g = f.results[i].ranks[r];
                out << seed + i << ',' << r << ',' << g.arrival_ns << ',' << g.finish_ns << ',' << g.busy_ns << ','
                    << g.wait_ns() << ',' << g.away_ns << '\n';
            }
        return;
    }
    out << "seed,makespan_ns,root_finish_ns,mean_finish_ns,last_arrival_ns,busy_ns,wait_ns,away_ns,messages,bytes\n";
    for (std::size_t i = 0; i != f.results.size(); ++i) {
        const bough::sim_result& r = f.results[i];
        out << seed + i << ',' << r.makespan_ns << ',' << r.root_finish_ns << ',' << r.mean_finish_ns << ','
            << r.last_arrival_ns << ',' << r.busy_ns << ',' << r.wait_ns << ',' << r.away_ns << ',' << r.messages << ','
            << r.bytes << '\n';
    }
}

void print_text(std::ostream& out, const found& f, const simulate_arguments& typed, figure what, std::size_t bins) {
    const bough::sample& s = *f.measured;
    const bough::sim_result& r = f.results.front();
    if (f.results.size() == 1) {
        const double ranks = static_cast<double>(f.results.front().ranks.size());
        out << "  last rank ends    " << us_text(r.makespan_ns) << " us (rank " << r.last_rank << ")\n"
            << "  root ends         " << us_text(r.root_finish_ns) << " us\n"
            << "  first rank ends   " << us_text(r.first_finish_ns) << " us\n"
            << "  last one came     " << us_text(r.last_arrival_ns) << " us\n"
            << "  per rank: at work " << us_text(r.busy_ns / ranks) << " us, waiting " << us_text(r.wait_ns / ranks)
            << " us";
        if (r.away_ns > 0) out << ", away " << us_text(r.away_ns / ranks) << " us";
        out << "\n  messages          " << r.messages << ", " << r.bytes << " bytes\n";
        return;
    }
    out << "  time in us " << text_of(what) << "; seeds " << typed.seed << " to "
        << parse_number("--seed", typed.seed, 0, ~std::uint64_t{0}) + f.results.size() - 1;
    if (f.left_out != 0) out << ", without the highest " << f.left_out;
    out << "\n\n    least " << us_text(s.least());
    for (const double p : {1.0, 10.0, 50.0, 90.0, 99.0})
        out << "   " << static_cast<int>(p) << " % " << us_text(s.percentile(p));
    out << "   most " << us_text(s.most()) << "\n    mean " << us_text(s.mean()) << "   deviation "
        << us_text(s.deviation()) << "   within 4 us " << std::lround(100 * s.share_within(4000)) << " %, within 20 us "
        << std::lround(100 * s.share_within(20'000)) << " %\n";
    if (bins == 0) return;
    out << '\n';
    std::size_t most = 1;
    const std::vector<bough::sample::bin> all = s.histogram(s.least() == s.most() ? 1 : bins);
    for (const auto& b : all) most = std::max(most, b.count);
    for (const auto& b : all)
        out << "  " << std::setw(10) << us_text(b.from) << "  " << std::setw(7) << b.count << "  "
            << std::string((b.count * 60 + most - 1) / most, '#') << '\n';
}

std::string name_of(const bough::network& n, std::uint32_t vertex) {
    return vertex < n.hosts() ? "host " + std::to_string(vertex) : "switch " + std::to_string(vertex - n.hosts());
}
// The link that needs longest for what it carries.
std::string text_of(const bough::network& over, const bough::link_traffic& load) {
    if (load.busiest == bough::network::nowhere) return "none carries anything";
    const bough::network::link& l = over.links()[load.busiest];
    return name_of(over, l.from) + " to " + name_of(over, l.to) + ": " + std::to_string(load.bytes[load.busiest]) +
           " bytes, " + us_text(load.busiest_ns) + " us by itself";
}
json json_of(const bough::network& over, const bough::link_traffic& load) {
    json links = json::array();
    for (std::size_t l = 0; l != load.bytes.size(); ++l)
        links.push_back({{"from", name_of(over, over.links()[l].from)},
                         {"to", name_of(over, over.links()[l].to)},
                         {"bytes", load.bytes[l]}});
    return {{"busiest_ns", load.busiest_ns}, {"links", links}};
}

} // namespace

int simulate(const simulate_arguments& typed) {
    const problem what = parse_plan(typed.plan, runs_over::network);
    const bough::rank_t ranks = what.at.size;
    const simulated_model model = parse_simulated_model(typed.model);
    bough::sim_options options = parse_simulation(typed, ranks);
    std::optional<bough::network> network;
    if (!typed.plan.network.empty()) network = parse_network(typed.plan.network, options.noise.seed);
    if (network)
        if (const bough::status bad = network->check(ranks)) throw usage_error("--network", bad.argument);
    if (network) options.network = &*network;
    const auto runs = static_cast<std::uint32_t>(parse_number("--runs", typed.runs, 1, 1'000'000));
    const std::size_t bins =
        typed.histogram.empty() ? (runs >= 20 ? 20 : 0) : parse_number("--histogram", typed.histogram, 0, 1000);
    const double drop = static_cast<double>(parse_number("--drop", typed.drop, 0, 99));
    const figure measured = parse_figure(typed.measure);
    options.per_rank = typed.per_rank || (runs == 1 && typed.plan.format == "text");
    if (typed.per_rank && std::uint64_t{ranks} * runs > most_steps)
        throw usage_error("--per-rank", "is for at most " + std::to_string(most_steps) + " ranks in all runs");
    const bool queued = std::visit([&](const auto& m) { return !bough::is_one_pass(m, options); }, model.costs);
    const bough::rank_t most = queued ? most_queued_ranks : most_ranks;
    if (ranks > most)
        throw usage_error("--ranks", "at most " + std::to_string(most) + " can be simulated" +
                                         (queued ? " where events are queued" : ""));

    found f;
    std::optional<bough::link_traffic> load; // of one operation
    progress::expect(std::uint64_t{runs} * ranks);
    with_plan(what, [&](const auto& plan) {
        if (network) load = traffic(plan, *network, options.bytes, options.element_bytes);
        const watched_plan watched{bough::plan_ref(plan)};
        bough::sim_options now = options;
        for (std::uint32_t i = 0; i != runs; ++i, ++now.noise.seed)
            f.results.push_back(
                std::visit([&](const auto& m) { return bough::simulate(watched, m, now); }, model.costs));
    });
    std::vector<double> values;
    for (const bough::sim_result& r : f.results) values.push_back(value_of(measured, r, ranks));
    f.measured.emplace(values);
    *f.measured = f.measured->without_highest(drop);
    f.left_out = values.size() - f.measured->size();

    std::optional<bough::network_bound> least;
    if (network) least = bound_on(*network, model, what, options.bytes);
    const std::uint64_t seed = options.noise.seed;
    if (typed.plan.format == "csv") {
        print_csv(std::cout, f, seed, typed.per_rank);
        return 0;
    }
    if (typed.plan.format == "json") {
        json document = json_of(what);
        document["model"] = model.text;
        document["bytes"] = options.bytes;
        document["seed"] = seed;
        document["runs"] = runs;
        document["first_run"] = json_of(f.results.front());
        if (least) document["least_ns"] = least->ns();
        if (load) document["traffic"] = json_of(*network, *load);
        const bough::sample& s = *f.measured;
        json& m = document["measured"] = {{"what", typed.measure}, {"left_out", f.left_out}, {"least_ns", s.least()}};
        for (const double p : {1.0, 10.0, 50.0, 90.0, 99.0})
            m["percentile_" + std::to_string(static_cast<int>(p)) + "_ns"] = s.percentile(p);
        m["most_ns"] = s.most();
        m["mean_ns"] = s.mean();
        m["deviation_ns"] = s.deviation();
        if (bins != 0) {
            m["histogram"] = json::array();
            for (const auto& b : s.histogram(bins)) m["histogram"].push_back({b.from, b.to, b.count});
        }
        if (typed.per_rank) {
            document["ranks"] = json::array();
            for (const bough::rank_figures& g : f.results.front().ranks)
                document["ranks"].push_back({{"arrival_ns", g.arrival_ns},
                                             {"finish_ns", g.finish_ns},
                                             {"busy_ns", g.busy_ns},
                                             {"away_ns", g.away_ns}});
        }
        print(std::cout, document);
        return 0;
    }
    std::cout << text_of(what) << "; " << size_text(options.bytes) << " bytes; " << model.text << "\n";
    print_text(std::cout, f, typed, measured, bins);
    if (load) std::cout << "  busiest link      " << text_of(*network, *load) << '\n';
    if (least && options.operations == 1 && f.results.front().latency_ns() > 0)
        std::cout << "  " << (runs == 1 ? "" : "the first run: ") << text_of(*least, f.results.front().latency_ns())
                  << '\n';
    return 0;
}

} // namespace cli
