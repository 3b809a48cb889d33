// SPDX-License-Identifier: BSL-1.0
// Time of each allreduce over threads beside its prediction, and how good the choice is: by the model that
// measure_transfers fits on this machine, whose walks are the predictions, and by a decision table of times measured
// here before, in other rounds than those that judge it. Numbers of ranks above that of cores are shown, and not
// counted.
//
// What an allreduce puts out is the input of the next one. An input that nobody writes to stays in the cache of the
// rank that has read it before, and reading it again costs next to nothing.
//
//   chrt -f 10 bench-algorithms      medians
//   bench-algorithms all             every algorithm, not only the chosen and the fastest one
//   bench-algorithms unwritten       the same input again and again
#include "../arguments.hpp"
#include <bough/allreduce.hpp>
#include <bough/measure/transfers.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/table.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace bough;
using clock_type = std::chrono::steady_clock;

using plan_type = plan<goal::allreduce, any_algorithm>;

// Whether every rank has the same steps in both: then they are one schedule under two names, and who is faster is
// chance.
bool same_steps(const plan_type& a, const plan_type& b) {
    for (rank_t rank = 0; rank != a.size(); ++rank)
        if (a.schedule_of(rank) != b.schedule_of(rank)) return false;
    return true;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// A size, what the model says of it, and the different plans among the candidates, best predicted first.
struct point {
    std::uint64_t bytes;
    candidate_list from;
    decision by_model;
    std::vector<plan_type> plans{};
    std::vector<std::size_t> which{}; // prospect of each plan

    problem what() const { return by_model.what; }
    std::size_t plan_of(const prospect& wanted) const {
        const plan_type named(wanted.what.algorithm, dimensions{.size = by_model.at.size, .blocks = wanted.blocks});
        return static_cast<std::size_t>(
            std::find_if(plans.begin(), plans.end(), [&](auto& other) { return same_steps(other, named); }) -
            plans.begin());
    }
};

point point_at(rank_t p, rank_t cores, std::uint64_t bytes, const any_cost_model& costs) {
    const dimensions at{.size = p};
    const problem what{.bytes = bytes, .element_bytes = 8, .cores = p <= cores ? no_rank : cores};
    const candidate_list from = standard_candidates<goal::allreduce>(at, what);
    point made{bytes, from, choose(from, at, what, costs, {.price_all = true})};
    for (std::size_t i = 0; i != made.by_model.prospects.size(); ++i) {
        const prospect& one = made.by_model.prospects[i];
        if (one.excluded != exclusion::none || made.plan_of(one) != made.plans.size()) continue;
        made.plans.emplace_back(one.what.algorithm, dimensions{.size = p, .blocks = one.blocks});
        made.which.push_back(i);
    }
    return made;
}

struct settings {
    bool all = false, unwritten = false;
};

// Times of an allreduce at rank 0, ns, of each plan in each round: all plans in turn, so that a disturbance hits all
// alike.
template <class X>
std::vector<std::vector<double>> times_of(communicator<X>& comm, const point& here, std::size_t rounds,
                                          const settings& set) {
    std::vector<double> in(here.bytes / sizeof(double), 0.0), out(in.size(), 0.0); // sums stay 0
    const auto operations =
        static_cast<int>(std::clamp<std::uint64_t>(2'000'000 / (here.bytes + 1000) / comm.size(), 1, 200));
    std::vector<std::vector<double>> times(here.plans.size());
    for (std::size_t round = 0; round != rounds + 1; ++round)
        for (std::size_t i = 0; i != here.plans.size(); ++i) {
            const auto begin = clock_type::now();
            for (int n = 0; n != operations; ++n) {
                allreduce(comm, std::span<const double>(in), std::span(out), plus{}, here.plans[i]);
                if (!set.unwritten) in.swap(out);
            }
            const std::chrono::duration<double, std::nano> took = clock_type::now() - begin;
            if (round != 0) times[i].push_back(took.count() / operations); // the first one warms up
        }
    return times;
}

// How many times as long a took as b: the median of the ratios within a round.
double times_as_long(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round != a.size(); ++round) ratios.push_back(a[round] / b[round]);
    return median(std::move(ratios));
}

// How often a choice was good.
struct tally {
    std::size_t points = 0, near = 0, fair = 0;
    double worst = 1;

    void add(double factor) {
        ++points, near += factor <= 1.1, fair += factor <= 1.5;
        worst = std::max(worst, factor);
    }
    void print(const char* chooser) const {
        std::printf("ranks <= cores, chosen by the %s: of %zu points within 10 %% of the fastest %zu, "
                    "within 1.5 x %zu, worst %.2f x\n",
                    chooser, points, near, fair, worst);
    }
};

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 2, "bench-algorithms [all] [unwritten]");
    settings set;
    for (int i = 1; given.has(i); ++i)
        (given.word(i, "a word", {"all", "unwritten"}) == "all" ? set.all : set.unwritten) = true;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    tally model_tally, table_tally;
    for (const rank_t p : {2u, 4u, 7u, 8u}) {
        in_process world{p};
        world.run([&](auto transport) {
            communicator comm{std::move(transport), {.cached_plans = 256}};
            const auto costs = measure_transfers(comm).fit.model;
            const bool prints = comm.rank() == 0;
            if (prints)
                std::printf("\n%u ranks on %u cores: alpha %.0f ns, beta %.3f, gamma %.3f ns a byte, held %.2f %.2f\n",
                            p, cores, costs.alpha_ns, costs.beta_ns_per_byte, costs.gamma_ns_per_byte, costs.held_alpha,
                            costs.held_beta);
            std::vector<point> points;
            for (std::uint64_t bytes = 8; bytes <= 1u << 24; bytes *= bytes < 1u << 23 ? 4 : 2)
                points.push_back(point_at(p, cores, bytes, costs));
            decision_table table; // rank 0's
            for (const point& here : points) {
                const auto ns = times_of(comm, here, p <= cores ? 11 : 5, set);
                for (const prospect& one : here.by_model.prospects)
                    if (one.excluded == exclusion::none)
                        table.rows.push_back({here.from.kind, p, here.bytes, one.what.algorithm.text(), one.blocks,
                                              median(ns[here.plan_of(one)])});
            }
            for (const point& here : points) {
                const auto ns = times_of(comm, here, p <= cores ? 21 : 11, set);
                if (!prints) continue;
                std::size_t fastest = 0;
                for (std::size_t i = 1; i != here.plans.size(); ++i)
                    if (times_as_long(ns[fastest], ns[i]) > 1) fastest = i;
                const std::size_t measured = here.plan_of(choose(here.from, {.size = p}, here.what(), table).winner());
                const auto factor = [&](std::size_t i) { return std::max(1.0, times_as_long(ns[i], ns[fastest])); };
                if (p <= cores) model_tally.add(factor(0)), table_tally.add(factor(measured));
                for (std::size_t i = 0; i != here.plans.size(); ++i) {
                    if (!set.all && i != 0 && i != measured && i != fastest) continue;
                    std::printf("  %9llu B %10.2f us, predicted %10.2f us, %5.2f x the fastest  %s%s%s%s\n",
                                static_cast<unsigned long long>(here.bytes), median(ns[i]) / 1e3,
                                here.by_model.prospects[here.which[i]].predicted_ns / 1e3, factor(i),
                                here.by_model.prospects[here.which[i]].what.text().c_str(),
                                i == 0 ? ", chosen by the model" : "", i == measured ? ", chosen by the table" : "",
                                i == fastest ? ", fastest" : "");
                }
                std::fflush(stdout);
            }
        });
    }
    std::printf("\n");
    model_tally.print("model");
    table_tally.print("table");
}
