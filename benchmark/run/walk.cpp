// SPDX-License-Identifier: BSL-1.0
// What it costs to price a plan: the walk of a 4-nomial reduce over 2^20 ranks, beside the recurrence by hand.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/fnomial.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr bough::model::lrc network{
    .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};
constexpr bough::rank_t many = 1u << 20;

// Ranks priced per second, besides the time.
void count_ranks(benchmark::State& state, bough::rank_t ranks) {
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * ranks);
}

// The baseline: no plan, no steps, no messages; ready[v] from the children's, which are above v.
void recurrence_by_hand(benchmark::State& state) {
    double root_ns = 0;
    for (auto _ : state) {
        std::vector<double> ready(many);
        for (bough::rank_t v = many; v-- != 0;) {
            double now = network.startup_ns;
            for (std::uint64_t stride = 1; stride < many && v % (4 * stride) == 0; stride *= 4)
                for (std::uint64_t child = v + stride; child < many && child != v + 4 * stride; child += stride)
                    now = std::max(now, ready[child] + network.message_latency_ns) + network.message_ns(8);
            ready[v] = now;
        }
        root_ns = ready[0];
        benchmark::DoNotOptimize(ready.data());
        benchmark::ClobberMemory();
    }
    const auto plan = bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = many});
    if (bough::model::walk(plan, network, 8).makespan_ns != root_ns) state.SkipWithError("not what the walk finds");
    count_ranks(state, many);
}

template <class Plan>
void walk_of(benchmark::State& state, const Plan& plan) {
    for (auto _ : state) benchmark::DoNotOptimize(bough::model::walk(plan, network, 8));
    count_ranks(state, plan.size());
}

void reduce_4nomial(benchmark::State& state) {
    walk_of(state, bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = many}));
}
void reduce_3nomial(benchmark::State& state) {
    walk_of(state, bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = many}));
}
void broadcast_4nomial(benchmark::State& state) {
    walk_of(state, bough::plan_broadcast(bough::fnomial{.degree = 4}, {.size = many}));
}
void allreduce_recursive_doubling(benchmark::State& state) {
    walk_of(state, bough::plan_allreduce(bough::recursive_doubling{}, {.size = 1u << 14}));
}

// Every rank waits in each of its 2 (p - 1) rounds.
void allreduce_ring(benchmark::State& state) { walk_of(state, bough::plan_allreduce(bough::ring{}, {.size = 540})); }

// Models with ports.
constexpr bough::model::alpha_beta_gamma ports{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
void ports_reduce_4nomial(benchmark::State& state) {
    const auto plan = bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = many});
    for (auto _ : state) benchmark::DoNotOptimize(bough::model::walk(plan, ports, 8));
    count_ranks(state, many);
}
void ports_allreduce_recursive_doubling(benchmark::State& state) {
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 1u << 14});
    for (auto _ : state) benchmark::DoNotOptimize(bough::model::walk(plan, ports, 8));
    count_ranks(state, plan.size());
}

BENCHMARK(recurrence_by_hand)->Unit(benchmark::kMillisecond);
BENCHMARK(reduce_4nomial)->Unit(benchmark::kMillisecond);
BENCHMARK(reduce_3nomial)->Unit(benchmark::kMillisecond);
BENCHMARK(broadcast_4nomial)->Unit(benchmark::kMillisecond);
BENCHMARK(allreduce_recursive_doubling)->Unit(benchmark::kMillisecond);
BENCHMARK(allreduce_ring)->Unit(benchmark::kMillisecond);
BENCHMARK(ports_reduce_4nomial)->Unit(benchmark::kMillisecond);
BENCHMARK(ports_allreduce_recursive_doubling)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
