// SPDX-License-Identifier: BSL-1.0
// Reproducible sums beside plain addition: adding many numbers of one rank, and combining the states of two.
//
// Items are numbers (fold) and states (combine). Numbers are of both signs and spread over 2^-20 to 2^20.
#include <bough/op/arithmetic.hpp>
#include <bough/op/binned_sum.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/exact_sum.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace {

template <class T>
std::vector<T> numbers(std::size_t count) {
    std::mt19937_64 random(1);
    std::vector<T> x;
    for (std::size_t i = 0; i != count; ++i) {
        const double m = std::uniform_real_distribution<>(-1, 1)(random);
        x.push_back(static_cast<T>(std::ldexp(m, static_cast<int>(random() % 41) - 20)));
    }
    return x;
}

void items(benchmark::State& state, std::size_t count) {
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(count));
}

// The loop one would write.
template <class T>
void fold_loop(benchmark::State& state) {
    const auto x = numbers<T>(10'000);
    for (auto _ : state) {
        T sum = 0;
        for (const T v : x) sum += v;
        benchmark::DoNotOptimize(sum);
    }
    items(state, x.size());
}
template <class T>
void fold_plus(benchmark::State& state) {
    const auto x = numbers<T>(10'000);
    for (auto _ : state) {
        T sum = -T(0);
        for (const T v : x) sum = bough::plus{}(sum, v);
        benchmark::DoNotOptimize(sum);
    }
    items(state, x.size());
}
template <class O, class T>
void fold(benchmark::State& state) {
    const auto x = numbers<T>(10'000);
    for (auto _ : state) {
        auto sum = O{}.lower(O{}.lift(std::span<const T>(x)));
        benchmark::DoNotOptimize(sum);
    }
    items(state, x.size());
}
// One by one, as a front door does for a span of numbers; and back.
template <class O, class T>
void lift_and_lower(benchmark::State& state) {
    auto x = numbers<T>(1000);
    for (auto _ : state) {
        for (T& v : x) v = O{}.lower(O{}.lift(v));
        benchmark::ClobberMemory();
    }
    items(state, x.size());
}

template <class T>
void combine_plus(benchmark::State& state) {
    auto a = numbers<T>(1000);
    const auto b = numbers<T>(1000);
    for (auto _ : state) {
        bough::combine<T>(bough::plus{}, a.data(), b.data(), a.data(), a.size());
        benchmark::ClobberMemory();
    }
    items(state, a.size());
}
template <class O, class T>
void combine(benchmark::State& state) {
    using held = typename O::template state_type<T>;
    std::vector<held> a, b;
    for (const T v : numbers<T>(1000)) a.push_back(O{}.lift(v)), b.push_back(O{}.lift(v * T(0.75)));
    for (auto _ : state) {
        bough::combine<held>(O{}, a.data(), b.data(), a.data(), a.size());
        benchmark::ClobberMemory();
    }
    items(state, a.size());
    state.counters["bytes"] = sizeof(held);
}

BENCHMARK(fold_loop<double>);
BENCHMARK(fold_plus<double>);
BENCHMARK(fold<bough::exact_sum, double>);
BENCHMARK(fold<bough::binned_sum<2>, double>);
BENCHMARK(fold<bough::binned_sum<3>, double>);
BENCHMARK(fold_loop<float>);
BENCHMARK(fold_plus<float>);
BENCHMARK(fold<bough::exact_sum, float>);
BENCHMARK(fold<bough::binned_sum<2>, float>);
BENCHMARK(lift_and_lower<bough::exact_sum, double>);
BENCHMARK(lift_and_lower<bough::binned_sum<2>, double>);
BENCHMARK(combine_plus<double>);
BENCHMARK(combine<bough::exact_sum, double>);
BENCHMARK(combine<bough::binned_sum<2>, double>);
BENCHMARK(combine<bough::binned_sum<3>, double>);
BENCHMARK(combine<bough::exact_sum, float>);
BENCHMARK(combine<bough::binned_sum<2>, float>);

} // namespace
