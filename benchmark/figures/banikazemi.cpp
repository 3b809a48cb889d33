// SPDX-License-Identifier: BSL-1.0
// The figures of doc/papers/banikazemi.md: multicasts among 64 nodes of two speeds on random networks of switches.
#include "csv.hpp"
#include <bough/algorithm/multicast/many.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/optimal.hpp>
#include <bough/tree/spoc.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using bough::rank_t;

namespace {

constexpr rank_t nodes = 64;
constexpr double fast_ns = 400'000;
constexpr double byte_ns = 12.5, route_ns = 500; // section 7.2.1

struct statistic {
    double sum = 0, squares = 0, count = 0;
    void add(double x) { sum += x, squares += x * x, count += 1; }
    double mean() const { return sum / count; }
    double error() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean()) / count); }
};

struct setting {
    double factor = 4;
    std::uint32_t percent = 25;
    std::uint64_t bytes = 1024;
    std::uint32_t sources = 1;
    rank_t destinations = 63;
    std::uint32_t networks = 10, sets = 10;
    bool fast_root = false; // the root of a single multicast is one of the fast nodes
};

// The columns of a table: naive (places in random order), spoc, fnf, balanced.
constexpr std::size_t ways = 4;
using figures_of = std::array<statistic, ways>;

std::vector<rank_t> shuffled(bough::random_sequence& random) {
    std::vector<rank_t> order;
    for (rank_t r = 0; r != nodes; ++r) {
        order.push_back(r);
        std::swap(order[r], order[static_cast<std::size_t>(random.below(r + 1))]);
    }
    return order;
}

double simulated_us(const setting& s, const bough::network& network, std::span<const double> send,
                    const std::vector<bough::multicast_request>& wanted,
                    const std::vector<bough::multicast_message>& order) {
    bough::model::heterogeneous model;
    for (const double ns : send) model.send.push_back({ns, 0});
    const auto sources = static_cast<bough::block_t>(wanted.size());
    const auto plan = bough::plan_multicasts(wanted, order, {.size = nodes});
    const auto run = bough::simulate(
        plan, model, {.bytes = s.bytes * sources, .order = bough::step_order::dependence, .network = &network});
    figures::expect(!run.deadlock() && run.messages == order.size(), "every message arrives");
    return run.makespan_ns / 1000;
}

figures_of run(const setting& s) {
    figures_of found;
    for (std::uint32_t n = 0; n != s.networks; ++n) {
        auto network = bough::network::irregular(nodes, 16, 8, 50, n + 1, 1 / byte_ns);
        network.hop_ns = route_ns;
        for (std::uint32_t set = 0; set != s.sets; ++set) {
            bough::random_sequence random(17, n, set); // the same nodes for all settings
            std::vector<double> send(nodes, fast_ns * s.factor);
            const auto by_speed = shuffled(random);
            for (rank_t i = 0; i != (nodes * s.percent + 50) / 100; ++i) send[by_speed[i]] = fast_ns;
            auto roots = shuffled(random);
            if (s.fast_root) roots[0] = by_speed[0];
            std::vector<bough::multicast_request> wanted;
            for (std::uint32_t k = 0; k != s.sources; ++k) {
                wanted.push_back({roots[k], {}});
                for (const rank_t r : shuffled(random))
                    if (r != roots[k] && wanted[k].members.size() != s.destinations) wanted[k].members.push_back(r);
            }
            const bough::tree_costs<double> costs{.send = send};
            std::vector<bough::table> naive, spoc;
            for (const auto& w : wanted) {
                std::vector<double> of_places{send[w.root]};
                for (const rank_t m : w.members) of_places.push_back(send[m]);
                naive.emplace_back(bough::tree(bough::binomial{}, s.destinations + 1));
                spoc.push_back(bough::spoc_tree(std::span(of_places)));
            }
            const auto add = [&](std::size_t way, const auto& made) {
                found[way].add(simulated_us(s, network, send, wanted, made.order));
            };
            add(0, bough::schedule_multicasts(costs, std::span<const bough::multicast_request>(wanted), naive));
            add(1, bough::schedule_multicasts(costs, std::span<const bough::multicast_request>(wanted), spoc));
            add(2, bough::independent_multicasts(costs, std::span<const bough::multicast_request>(wanted)));
            add(3, bough::balanced_multicasts(costs, std::span<const bough::multicast_request>(wanted)));
        }
    }
    return found;
}

void write(figures::csv& out, const setting& s) {
    const figures_of f = run(s);
    out.row(s.factor, s.percent, s.bytes, s.sources, s.destinations, f[0].mean(), f[1].mean(), f[2].mean(), f[3].mean(),
            f[0].error(), f[1].error(), f[2].error(), f[3].error(), f[0].mean() / f[1].mean(),
            f[0].mean() / f[2].mean(), f[0].mean() / f[3].mean());
}

constexpr const char* columns = "factor,percent_fast,bytes,sources,destinations,naive_us,spoc_us,fnf_us,balanced_us,"
                                "naive_error,spoc_error,fnf_error,balanced_error,gain_spoc,gain_fnf,gain_balanced";

// Table 2: means over 10 000 random cases, costs from 100, 200 .. 800.
void table_2(const std::string& to) {
    constexpr double paper[8][2] = {{453.37, 453.37}, {705.60, 705.60}, {805.70, 805.70}, {871.01, 871.01},
                                    {914.90, 913.15}, {947.56, 942.26}, {976.90, 967.27}, {984.29, 977.12}};
    figures::csv out(to, "banikazemi_table_2", "nodes,fnf,optimum,error,equal_percent,paper_fnf,paper_optimum");
    for (rank_t n = 2; n != 10; ++n) {
        statistic fnf, best;
        double equal = 0;
        for (std::uint64_t i = 0; i != 10'000; ++i) {
            bough::random_sequence random(2, n, i);
            std::vector<int> costs;
            for (rank_t r = 0; r != n; ++r) costs.push_back(100 * static_cast<int>(1 + random.below(8)));
            const auto greedy = bough::broadcast_time(bough::fnf_tree(std::span(costs)), std::span(costs));
            const auto exact = bough::optimal_tree(std::span(costs)).certificate.found;
            fnf.add(static_cast<double>(greedy));
            best.add(static_cast<double>(exact));
            equal += greedy == exact ? 0.01 : 0;
        }
        out.row(n, fnf.mean(), best.mean(), best.error(), equal, paper[n - 2][0], paper[n - 2][1]);
    }
}

} // namespace

int main(int count, char** arguments) {
    const std::string to = figures::directory(count, arguments);
    constexpr std::array<rank_t, 6> destinations{3, 7, 15, 31, 47, 63};
    {
        figures::csv out(to, "banikazemi_speed", columns); // Fig. 7
        for (const double factor : {2.0, 4.0, 6.0})
            for (const rank_t d : destinations) write(out, {.factor = factor, .destinations = d});
    }
    {
        figures::csv out(to, "banikazemi_percent", columns); // Fig. 8
        for (const std::uint32_t percent : {10u, 25u, 50u})
            for (const rank_t d : destinations) write(out, {.percent = percent, .destinations = d});
    }
    {
        figures::csv out(to, "banikazemi_fast_root", columns);
        for (const rank_t d : destinations) write(out, {.destinations = d, .fast_root = true});
    }
    {
        figures::csv out(to, "banikazemi_bytes", columns); // Fig. 9
        for (const std::uint64_t bytes : {64u, 1024u, 4096u})
            for (const rank_t d : destinations) write(out, {.bytes = bytes, .destinations = d});
    }
    {
        figures::csv out(to, "banikazemi_sources", columns); // Fig. 10
        for (const std::uint32_t percent : {25u, 50u})
            for (const std::uint32_t sources : {4u, 16u, 32u, 64u})
                for (const rank_t d : {7u, 15u, 31u, 63u})
                    write(out, {.percent = percent, .sources = sources, .destinations = d, .networks = 4, .sets = 4});
    }
    table_2(to);
}
