// SPDX-License-Identifier: BSL-1.0
// Time of each allreduce over threads beside its prediction, and how good the choice is: the prediction is the walk of the
// plan under the model that measure_transfers fits on this machine. Numbers of ranks above that of cores are shown, and not
// counted.
//
//   chrt -f 10 bench-algorithms           medians; "all": every algorithm, not only the chosen and the fastest one
#include <bough/allreduce.hpp>
#include <bough/measure_transfers.hpp>
#include <bough/op/arithmetic.hpp>
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

// Whether every rank has the same steps in both: then they are one schedule under two names, and who is faster is chance.
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

// Times of an allreduce at rank 0, ns, of each plan in each round: all plans in turn, so that a disturbance hits all alike.
template <class X>
std::vector<std::vector<double>> times_of(communicator<X>& comm, const std::vector<plan_type>& plans,
                                          std::uint64_t bytes) {
    std::vector<double> in(bytes / sizeof(double), 1.0), out(in.size());
    const auto operations =
        static_cast<int>(std::clamp<std::uint64_t>(2'000'000 / (bytes + 1000) / comm.size(), 1, 200));
    constexpr std::size_t rounds = 21;
    std::vector<std::vector<double>> times(plans.size());
    for (std::size_t round = 0; round != rounds + 1; ++round)
        for (std::size_t i = 0; i != plans.size(); ++i) {
            const auto begin = clock_type::now();
            for (int n = 0; n != operations; ++n)
                allreduce(comm, std::span<const double>(in), std::span(out), plus{}, plans[i]);
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

} // namespace

int main(int argc, char** argv) {
    const bool all = argc > 1 && std::string_view(argv[1]) == "all";
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    std::size_t points = 0, near = 0, fair = 0;
    for (const rank_t p : {2u, 4u, 7u, 8u}) {
        const bool counted = p <= cores;
        in_process world{p};
        world.run([&](auto transport) {
            communicator comm{std::move(transport), {.cached_plans = 256}};
            const auto costs = measure_transfers(comm).fit.model;
            const bool prints = comm.rank() == 0;
            if (prints)
                std::printf("\n%u ranks on %u cores: alpha %.0f ns, beta %.3f, gamma %.3f ns a byte, held %.2f %.2f\n",
                            p, cores, costs.alpha_ns, costs.beta_ns_per_byte, costs.gamma_ns_per_byte, costs.held_alpha,
                            costs.held_beta);
            for (std::uint64_t bytes = 8; bytes <= 1u << 24; bytes *= bytes < 1u << 23 ? 4 : 2) {
                const dimensions at{.size = p};
                const problem what{.bytes = bytes, .element_bytes = 8, .cores = counted ? no_rank : cores};
                const decision d = choose(standard_candidates<goal::allreduce>(at, what), at, what, any_costs(costs),
                                          {.price_all = true});
                std::vector<plan_type> plans;
                std::vector<std::size_t> which; // prospect of each plan
                for (std::size_t i = 0; i != d.prospects.size(); ++i) {
                    const prospect& one = d.prospects[i];
                    if (one.excluded != exclusion::none) continue;
                    plan_type next(one.what.algorithm, dimensions{.size = p, .blocks = one.blocks});
                    if (std::any_of(plans.begin(), plans.end(), [&](auto& other) { return same_steps(other, next); }))
                        continue;
                    plans.push_back(std::move(next));
                    which.push_back(i);
                }
                const auto ns = times_of(comm, plans, bytes);
                if (!prints) continue;
                std::size_t fastest = 0;
                double factor = 1;
                for (std::size_t i = 1; i != plans.size(); ++i)
                    if (const double longer = times_as_long(ns[0], ns[i]); longer > factor)
                        factor = longer, fastest = i;
                if (counted) ++points, near += factor <= 1.1, fair += factor <= 1.5;
                const auto line = [&](const char* what_it_is, std::size_t i) {
                    std::printf("  %9llu B %-8s %10.2f us, predicted %10.2f us  %s\n",
                                static_cast<unsigned long long>(bytes), what_it_is, median(ns[i]) / 1e3,
                                d.prospects[which[i]].predicted_ns / 1e3, d.prospects[which[i]].what.text().c_str());
                };
                if (all)
                    for (std::size_t i = 0; i != plans.size(); ++i) line(i == 0 ? "chosen" : "", i);
                else
                    line("chosen", 0);
                if (fastest != 0) line("fastest", fastest);
                std::fflush(stdout);
            }
        });
    }
    if (points != 0)
        std::printf("\nranks <= cores: %zu points, chosen within 10 %% of the fastest in %zu, within 1.5 x in %zu\n",
                    points, near, fair);
}
