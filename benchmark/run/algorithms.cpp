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

// Median time of an allreduce at rank 0, by rounds of all candidates in turn, so that a disturbance hits all alike.
template <class X>
std::vector<double> times_of(communicator<X>& comm, const std::vector<plan<goal::allreduce, any_algorithm>>& plans,
                             std::uint64_t bytes) {
    std::vector<double> in(bytes / sizeof(double), 1.0), out(in.size());
    const auto operations =
        static_cast<int>(std::clamp<std::uint64_t>(2'000'000 / (bytes + 1000) / comm.size(), 1, 200));
    constexpr std::size_t rounds = 9;
    std::vector<std::vector<double>> times(plans.size());
    for (std::size_t round = 0; round != rounds + 1; ++round)
        for (std::size_t i = 0; i != plans.size(); ++i) {
            const auto begin = clock_type::now();
            for (int n = 0; n != operations; ++n)
                allreduce(comm, std::span<const double>(in), std::span(out), plus{}, plans[i]);
            const std::chrono::duration<double, std::nano> took = clock_type::now() - begin;
            if (round != 0) times[i].push_back(took.count() / operations); // the first one warms up
        }
    std::vector<double> medians;
    for (auto& t : times) {
        std::nth_element(t.begin(), t.begin() + rounds / 2, t.end());
        medians.push_back(t[rounds / 2]);
    }
    return medians;
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
                std::vector<plan<goal::allreduce, any_algorithm>> plans;
                for (const prospect& one : d.prospects)
                    if (one.excluded == exclusion::none)
                        plans.emplace_back(one.what.algorithm, dimensions{.size = p, .blocks = one.blocks});
                const auto ns = times_of(comm, plans, bytes);
                if (!prints) continue;
                const auto fastest = static_cast<std::size_t>(std::min_element(ns.begin(), ns.end()) - ns.begin());
                const double factor = ns[0] / ns[fastest];
                if (counted) ++points, near += factor <= 1.1, fair += factor <= 1.5;
                const auto line = [&](const char* what_it_is, std::size_t i) {
                    std::printf("  %9llu B %-8s %10.2f us, predicted %10.2f us  %s\n",
                                static_cast<unsigned long long>(bytes), what_it_is, ns[i] / 1e3,
                                d.prospects[i].predicted_ns / 1e3, d.prospects[i].what.text().c_str());
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
