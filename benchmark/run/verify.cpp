// SPDX-License-Identifier: BSL-1.0
// How long proofs take. The baseline is the plan itself: emitting all steps into a sink that only counts them.
//
//   all_plans/256     every reduce, broadcast, allreduce and barrier for 1 to 256 ranks, one block, root 0
//   one_plan          one large plan: where the cost of a step settles
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/verify/verify.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>

using namespace bough;

namespace {

template <class F>
void for_each_plan(rank_t size, F f) {
    const dimensions at{.size = size, .blocks = 1};
    const auto over = [&](const auto& source) {
        f(plan_reduce(source, at));
        f(plan_broadcast(source, at));
        f(plan_allreduce(source, at));
    };
    over(binomial{});
    over(binomial{.orientation = orientation::high});
    over(fnomial{.degree = 3});
    over(fnomial{.degree = 4});
    over(kary{.arity = 2});
    over(chain{});
    over(flat{});
    over(ordered<fnomial>{{.degree = 3}});
    f(plan_allreduce(recursive_doubling{}, at));
    f(plan_barrier(dissemination{}, at));
}

template <Plan P>
std::uint64_t steps_of(const P& plan) {
    step_counts counts;
    for (rank_t r = 0; r != plan.size(); ++r) plan.emit(r, counts);
    return counts.steps();
}

void all_plans_emit(benchmark::State& state) {
    const auto most = static_cast<rank_t>(state.range(0));
    std::uint64_t steps = 0;
    for (auto _ : state)
        for (rank_t size = 1; size <= most; ++size)
            for_each_plan(size, [&](const auto& plan) { steps += steps_of(plan); });
    benchmark::DoNotOptimize(steps);
    state.counters["steps/s"] = benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
}
BENCHMARK(all_plans_emit)->Arg(256)->Unit(benchmark::kMillisecond);

void all_plans_verify(benchmark::State& state) {
    const auto most = static_cast<rank_t>(state.range(0));
    std::uint64_t steps = 0;
    std::uint64_t plans = 0;
    for (rank_t size = 1; size <= most; ++size)
        for_each_plan(size, [&](const auto& plan) { steps += steps_of(plan), ++plans; });
    for (auto _ : state)
        for (rank_t size = 1; size <= most; ++size)
            for_each_plan(size, [&](const auto& plan) {
                if (!verify(plan)) state.SkipWithError("a plan is not proved");
            });
    const auto rate = [&](std::uint64_t count) {
        return benchmark::Counter(static_cast<double>(count * static_cast<std::uint64_t>(state.iterations())),
                                  benchmark::Counter::kIsRate);
    };
    state.counters["plans/s"] = rate(plans);
    state.counters["steps/s"] = rate(steps);
}
BENCHMARK(all_plans_verify)->Arg(256)->Unit(benchmark::kMillisecond);

template <class MakePlan>
void one_plan(benchmark::State& state, MakePlan make) {
    const auto plan =
        make(dimensions{.size = static_cast<rank_t>(state.range(0)), .blocks = static_cast<block_t>(state.range(1))});
    for (auto _ : state) {
        const verdict proof = verify(plan);
        if (!proof) state.SkipWithError("the plan is not proved");
        benchmark::DoNotOptimize(proof.traits.bracket);
    }
    state.counters["steps/s"] = benchmark::Counter(
        static_cast<double>(steps_of(plan)) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(one_plan, allreduce_fnomial_4,
                  [](const dimensions& at) { return plan_allreduce(fnomial{.degree = 4}, at); })
    ->Args({1 << 8, 1})
    ->Args({1 << 12, 1})
    ->Args({1 << 16, 1})
    ->Args({1 << 8, 1 << 8})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(one_plan, allreduce_recursive_doubling,
                  [](const dimensions& at) { return plan_allreduce(recursive_doubling{}, at); })
    ->Args({1 << 8, 1})
    ->Args({1 << 12, 1})
    ->Args({1 << 8, 1 << 8})
    ->Unit(benchmark::kMillisecond);

} // namespace
