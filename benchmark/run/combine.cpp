// SPDX-License-Identifier: BSL-1.0
// The combine kernel beside a plain loop and memcpy. Compile at -O2: that is what users of distributions get.
//
// Bytes per second count the operand that is combined into the other (out is lower), once.
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/min_max.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

template <class T>
struct operands {
    std::vector<T> lower;
    std::vector<T> upper;
    explicit operands(const benchmark::State& state)
        : lower(static_cast<std::size_t>(state.range(0)) / sizeof(T), T(1)), upper(lower.size(), T(0)) {}
};

template <class T>
void count_bytes(benchmark::State& state, const operands<T>& data) {
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(data.lower.size() * sizeof(T)));
}

template <class O, class T>
void combine(benchmark::State& state) {
    operands<T> data(state);
    for (auto _ : state) {
        bough::combine<T>(O{}, data.lower.data(), data.upper.data(), data.lower.data(), data.lower.size());
        benchmark::ClobberMemory();
    }
    count_bytes(state, data);
}

// What a type-erased engine calls.
template <class O, class T>
void combine_bytes(benchmark::State& state) {
    operands<T> data(state);
    auto* function = &bough::combine_bytes<O, T>;
    benchmark::DoNotOptimize(function);
    auto* lower = reinterpret_cast<std::byte*>(data.lower.data());
    auto* upper = reinterpret_cast<const std::byte*>(data.upper.data());
    for (auto _ : state) {
        function(nullptr, lower, upper, lower, data.lower.size());
        benchmark::ClobberMemory();
    }
    count_bytes(state, data);
}

// The loop one would write: the same op, element by element.
template <class O, class T>
[[gnu::noinline]] void loop(const T* lower, const T* upper, T* out, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) out[i] = O{}(lower[i], upper[i]);
}
template <class O, class T>
void plain(benchmark::State& state) {
    operands<T> data(state);
    for (auto _ : state) {
        loop<O>(data.lower.data(), data.upper.data(), data.lower.data(), data.lower.size());
        benchmark::ClobberMemory();
    }
    count_bytes(state, data);
}

void copy(benchmark::State& state) {
    operands<double> data(state);
    for (auto _ : state) {
        std::memcpy(data.lower.data(), data.upper.data(), data.lower.size() * sizeof(double));
        benchmark::ClobberMemory();
    }
    count_bytes(state, data);
}

constexpr std::int64_t kibi = 1024;
void sizes(benchmark::internal::Benchmark* b) { b->Arg(kibi)->Arg(16 * kibi)->Arg(4 * kibi * kibi); }

BENCHMARK(copy)->Apply(sizes);
BENCHMARK_TEMPLATE(combine, bough::plus, double)->Apply(sizes);
BENCHMARK_TEMPLATE(combine_bytes, bough::plus, double)->Apply(sizes);
BENCHMARK_TEMPLATE(plain, bough::plus, double)->Apply(sizes);
BENCHMARK_TEMPLATE(combine, bough::plus, float)->Apply(sizes);
BENCHMARK_TEMPLATE(plain, bough::plus, float)->Apply(sizes);
BENCHMARK_TEMPLATE(combine, bough::plus, std::int32_t)->Apply(sizes);
BENCHMARK_TEMPLATE(plain, bough::plus, std::int32_t)->Apply(sizes);
BENCHMARK_TEMPLATE(combine, bough::plus, std::int8_t)->Apply(sizes);
BENCHMARK_TEMPLATE(plain, bough::plus, std::int8_t)->Apply(sizes);
BENCHMARK_TEMPLATE(combine, bough::min, double)->Apply(sizes);
BENCHMARK_TEMPLATE(plain, bough::min, double)->Apply(sizes);
BENCHMARK_TEMPLATE(combine, bough::max, double)->Apply(sizes);
BENCHMARK_TEMPLATE(combine, bough::min_number, double)->Apply(sizes);

} // namespace
