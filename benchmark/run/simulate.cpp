// SPDX-License-Identifier: BSL-1.0
// Events per second of the simulator's engines, beside the walk of the same plan.
//
// An event is a message sent, a message received, a combine or a copy that was done. Instructions of an event, in one pass:
//
//   valgrind --tool=callgrind --toggle-collect='*measured*' bench-simulate instructions 4096       (ranks)
//
// prints the events of recursive doubling, by which to divide; with a third word, of a dissemination.
#include "../arguments.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/fnomial.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr bough::model::lrc network{
    .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};

const auto exchange = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 65'536});
const auto barrier = bough::plan_barrier(bough::dissemination{}, {.size = 65'536});
const auto reduce = bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = 1u << 20});

template <class Plan>
void walk_of(benchmark::State& state, const Plan& plan) {
    std::uint64_t events = 0;
    for (auto _ : state) events += bough::model::walk(plan, network, 8).steps;
    state.SetItemsProcessed(static_cast<std::int64_t>(events));
}
template <class Plan>
void simulation_of(benchmark::State& state, const Plan& plan, const bough::sim_options& options) {
    std::uint64_t events = 0;
    for (auto _ : state) events += bough::simulate(plan, network, options).events;
    state.SetItemsProcessed(static_cast<std::int64_t>(events));
}

void walk_exchange(benchmark::State& state) { walk_of(state, exchange); }
void walk_barrier(benchmark::State& state) { walk_of(state, barrier); }
void walk_reduce(benchmark::State& state) { walk_of(state, reduce); }
void one_pass_exchange(benchmark::State& state) { simulation_of(state, exchange, {}); }
void one_pass_barrier(benchmark::State& state) { simulation_of(state, barrier, {}); }
void one_pass_reduce(benchmark::State& state) { simulation_of(state, reduce, {}); }
void one_pass_exchange_with_noise(benchmark::State& state) {
    simulation_of(state, exchange, {.noise = {.daemons = {{.period_ns = 1'000'000, .duration_ns = 5'000}}}});
}
void discrete_exchange(benchmark::State& state) {
    simulation_of(state, exchange, {.engine = bough::simulator::discrete});
}
void discrete_barrier(benchmark::State& state) {
    simulation_of(state, barrier, {.engine = bough::simulator::discrete});
}
void discrete_exchange_by_dependence(benchmark::State& state) {
    simulation_of(state, bough::plan_allreduce(bough::recursive_doubling{}, {.size = 16'384}),
                  {.order = bough::step_order::dependence});
}

BENCHMARK(walk_exchange)->Unit(benchmark::kMillisecond);
BENCHMARK(one_pass_exchange)->Unit(benchmark::kMillisecond);
BENCHMARK(one_pass_exchange_with_noise)->Unit(benchmark::kMillisecond);
BENCHMARK(discrete_exchange)->Unit(benchmark::kMillisecond);
BENCHMARK(discrete_exchange_by_dependence)->Unit(benchmark::kMillisecond);
BENCHMARK(walk_barrier)->Unit(benchmark::kMillisecond);
BENCHMARK(one_pass_barrier)->Unit(benchmark::kMillisecond);
BENCHMARK(discrete_barrier)->Unit(benchmark::kMillisecond);
BENCHMARK(walk_reduce)->Unit(benchmark::kMillisecond);
BENCHMARK(one_pass_reduce)->Unit(benchmark::kMillisecond);

} // namespace

// Not in the unnamed namespace and not inlined: callgrind finds it by name.
template <class Plan>
[[gnu::noinline]] std::uint64_t measured(const Plan& plan) {
    return bough::simulate(plan, network, {}).events;
}

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "instructions") {
        const arguments::list given(argc, argv, 3, "bench-simulate instructions ranks [dissemination]");
        const auto ranks = given.number<bough::rank_t>(2, "ranks", 1, 1 << 20, 1024);
        const std::uint64_t events =
            !given.word(3, "the plan", {"dissemination"}).empty()
                ? measured(bough::plan_barrier(bough::dissemination{}, {.size = ranks}))
                : measured(bough::plan_allreduce(bough::recursive_doubling{}, {.size = ranks}));
        std::printf("%llu events\n", static_cast<unsigned long long>(events));
        return 0;
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
