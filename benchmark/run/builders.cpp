// SPDX-License-Identifier: BSL-1.0
// Builders of heterogeneous trees, beside sorting the same costs and the quadratic loop that the paper prints.
//
// table_2 is no timing: its counters are the means of the paper's Table 2 over 10 000 random cases, with standard errors.
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/optimal.hpp>
#include <bough/tree/spoc.hpp>
#include <bough/tree/tree.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace {

using namespace bough;

std::vector<int> costs_of(std::int64_t n, int low, int high, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::vector<int> costs;
    for (std::int64_t i = 0; i != n; ++i) costs.push_back(std::uniform_int_distribution(low, high)(random));
    return costs;
}
std::vector<int> classes_of(std::int64_t n, int count) {
    std::vector<int> costs;
    for (std::int64_t i = 0; i != n; ++i) costs.push_back(100 + 130 * static_cast<int>(i % count));
    return costs;
}

void sort_costs(benchmark::State& state) {
    const auto costs = costs_of(state.range(0), 100, 800);
    for (auto _ : state) {
        auto copy = costs;
        std::sort(copy.begin(), copy.end());
        benchmark::DoNotOptimize(copy.data());
    }
}
void spoc(benchmark::State& state) {
    const auto costs = costs_of(state.range(0), 100, 800);
    for (auto _ : state) benchmark::DoNotOptimize(spoc_tree(std::span(costs)));
}
void fnf(benchmark::State& state) {
    const auto costs = costs_of(state.range(0), 100, 800);
    for (auto _ : state) benchmark::DoNotOptimize(fnf_tree(std::span(costs)));
}
// Fig. 3 of the paper: the next sender by looking at all of them.
void fnf_quadratic(benchmark::State& state) {
    const auto costs = costs_of(state.range(0), 100, 800);
    for (auto _ : state) {
        std::vector<int> order(costs.begin() + 1, costs.end());
        std::sort(order.begin(), order.end());
        std::vector<std::int64_t> done{costs[0]};
        std::vector<int> cost{costs[0]};
        for (const int c : order) {
            const auto at = static_cast<std::size_t>(std::min_element(done.begin(), done.end()) - done.begin());
            done.push_back(done[at] + c);
            cost.push_back(c);
            done[at] += cost[at];
        }
        benchmark::DoNotOptimize(done.data());
    }
}
void search(benchmark::State& state) {
    const auto costs = costs_of(state.range(0), 100, 800);
    for (auto _ : state) benchmark::DoNotOptimize(fnf_search_tree(std::span(costs)));
    state.counters["fnf"] = static_cast<double>(broadcast_time(fnf_tree(std::span(costs)), std::span(costs)));
    state.counters["search"] = static_cast<double>(broadcast_time(fnf_search_tree(std::span(costs)), std::span(costs)));
}

template <class C>
void optimum(benchmark::State& state, const tree_costs<C>& costs) {
    certificate<time_of<C>> known{};
    for (auto _ : state) known = optimal_tree(costs).certificate;
    state.counters["found"] = static_cast<double>(known.found);
    state.counters["bound"] = static_cast<double>(known.lower_bound);
}
void optimal_distinct(benchmark::State& state) {
    const auto costs = costs_of(state.range(0), 1000, 8000);
    optimum(state, tree_costs<int>{.send = costs});
}
void optimal_classes(benchmark::State& state) {
    const auto costs = classes_of(state.range(0), static_cast<int>(state.range(1)));
    optimum(state, tree_costs<int>{.send = costs});
}
void optimal_classes_receive(benchmark::State& state) {
    const auto costs = classes_of(state.range(0), static_cast<int>(state.range(1)));
    optimum(state, tree_costs<int>{.send = costs, .receive = costs, .latency = 40});
}

// Ranks whose costs are all different, from 1 to `most` times the least: time above the best tree found, in per cent, and how
// far off that can be. Means of four cases.
void certificates(benchmark::State& state) {
    const int cases = 4;
    double binomials = 0, spocs = 0, fnfs = 0, gap = 0, proven = 0;
    for (auto _ : state)
        for (int i = 0; i != cases; ++i) {
            const auto costs = costs_of(state.range(0), 1000, 1000 * static_cast<int>(state.range(1)),
                                        static_cast<unsigned>(1000 * state.range(0) + i));
            const std::span send(costs);
            const auto known = optimal_tree(send).certificate;
            const auto above = [&](const auto& t) {
                return 100.0 / cases *
                       (static_cast<double>(broadcast_time(t, send)) / static_cast<double>(known.found) - 1);
            };
            binomials += above(tree(binomial{}, static_cast<rank_t>(costs.size())));
            spocs += above(spoc_tree(send));
            fnfs += above(fnf_tree(send));
            gap += 100.0 / cases * known.gap();
            proven += known.proven() ? 1 : 0;
        }
    state.counters["binomial_%"] = binomials;
    state.counters["spoc_%"] = spocs;
    state.counters["fnf_%"] = fnfs;
    state.counters["proven_of_4"] = proven;
    state.counters["gap_%"] = gap;
}

struct statistic {
    double sum = 0, squares = 0, count = 0;
    void add(double x) { sum += x, squares += x * x, count += 1; }
    double mean() const { return sum / count; }
    double error() const { return std::sqrt((squares / count - mean() * mean()) / count); }
};

void table_2(benchmark::State& state) {
    for (auto _ : state) {
        statistic by_fnf, by_search, best;
        double equal = 0;
        std::mt19937 random(static_cast<unsigned>(state.range(0)));
        for (int i = 0; i != 10'000; ++i) {
            std::vector<int> costs;
            for (std::int64_t k = 0; k != state.range(0); ++k)
                costs.push_back(100 * std::uniform_int_distribution(1, 8)(random));
            const auto time = [&](const table& t) { return static_cast<double>(broadcast_time(t, std::span(costs))); };
            by_fnf.add(time(fnf_tree(std::span(costs))));
            by_search.add(time(fnf_search_tree(std::span(costs))));
            best.add(static_cast<double>(optimal_tree(std::span(costs)).certificate.found));
            equal += time(fnf_tree(std::span(costs))) == time(optimal_tree(std::span(costs)).tree) ? 1 : 0;
        }
        state.counters["fnf"] = by_fnf.mean();
        state.counters["fnf_search"] = by_search.mean();
        state.counters["optimum"] = best.mean();
        state.counters["std_error"] = best.error();
        state.counters["equal_%"] = equal / 100;
    }
}

BENCHMARK(sort_costs)->Arg(1000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(spoc)->Arg(1000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(fnf)->Arg(1000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(fnf_quadratic)->Arg(1000)->Arg(30'000)->Unit(benchmark::kMillisecond);
BENCHMARK(search)->Arg(12)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(optimal_distinct)->DenseRange(10, 28, 2)->Arg(32)->Arg(40)->Arg(48)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(optimal_classes)->Args({64, 2})->Args({64, 3})->Args({128, 2})->Args({256, 2})->Unit(benchmark::kMillisecond);
BENCHMARK(optimal_classes_receive)->Args({64, 2})->Args({64, 3})->Args({128, 2})->Unit(benchmark::kMillisecond);
BENCHMARK(certificates)->ArgsProduct({{16, 24, 32, 40, 48, 64}, {4, 8}})->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(table_2)->DenseRange(2, 9)->Iterations(1)->Unit(benchmark::kMillisecond);

} // namespace
