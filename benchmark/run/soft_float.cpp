// SPDX-License-Identifier: BSL-1.0
// Soft-float beside the floating-point unit, and limbs beside words with carries. Items are operations (add, chain),
// numbers (limb_add) or states (limb_combine).
//
// `chain`: each sum waits for the one before, as in a reduction of one element; `array`: 1000 independent ones. Operands
// are of both signs and spread over 2^-20 to 2^20.
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/limb_sum.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/soft_ops.hpp>

#include <benchmark/benchmark.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace {

using namespace bough;

template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> x;
    for (std::size_t i = 0; i != count; ++i) {
        const double m = std::uniform_real_distribution<>(-1, 1)(random);
        x.push_back(static_cast<T>(std::ldexp(m, static_cast<int>(random() % 41) - 20)));
    }
    return x;
}
// The upper half of a float is a bfloat16; halves are made likewise from the middle of its bits.
template <class Format>
std::vector<typename Format::word> bits(std::size_t count, unsigned seed) {
    std::vector<typename Format::word> x;
    for (const float v : numbers<float>(count, seed)) {
        const auto b = std::bit_cast<std::uint32_t>(v);
        const auto exponent =
            static_cast<std::uint32_t>(static_cast<int>(b >> 23 & 255) - 127 + (1 << (Format::exponent_bits - 1)) - 1);
        const std::uint32_t clamped = exponent > (1u << Format::exponent_bits) - 2 ? 1 : exponent;
        x.push_back(static_cast<typename Format::word>((b >> 31) << (Format::bits - 1) |
                                                       clamped << Format::fraction_bits |
                                                       (b & 0x7fffff) >> (23 - Format::fraction_bits)));
    }
    return x;
}

void items(benchmark::State& state, std::size_t count) {
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(count));
}

template <class T, class O>
void run_array(benchmark::State& state, const std::vector<T>& a, const std::vector<T>& b) {
    std::vector<T> out(a.size());
    for (auto _ : state) {
        combine<T>(O{}, a.data(), b.data(), out.data(), a.size());
        benchmark::ClobberMemory();
    }
    items(state, a.size());
}
template <class O, class T>
void array(benchmark::State& state) {
    run_array<T, O>(state, numbers<T>(1000, 1), numbers<T>(1000, 2));
}
template <class O, class Format>
void array_of_bits(benchmark::State& state) {
    run_array<typename Format::word, O>(state, bits<Format>(1000, 1), bits<Format>(1000, 2));
}

template <class O, class T>
void chain(benchmark::State& state) {
    const auto x = numbers<T>(1000, 1);
    for (auto _ : state) {
        T sum = 0;
        for (const T v : x) sum = O{}(sum, v);
        benchmark::DoNotOptimize(sum);
    }
    items(state, x.size());
}
template <class T>
void chain_of_unit(benchmark::State& state) {
    const auto x = numbers<T>(1000, 1);
    for (auto _ : state) {
        T sum = 0;
        for (const T v : x) sum += v;
        benchmark::DoNotOptimize(sum);
    }
    items(state, x.size());
}

template <class O, class T>
void lift_many(benchmark::State& state) {
    const auto x = numbers<T>(10'000, 1);
    for (auto _ : state) {
        auto held = O{}.lift(std::span<const T>(x));
        benchmark::DoNotOptimize(held);
    }
    items(state, x.size());
}
template <class O, class T>
void combine_states(benchmark::State& state) {
    using held = typename O::template state_type<T>;
    std::vector<held> a, b;
    for (const T v : numbers<T>(100, 1)) a.push_back(O{}.lift(v)), b.push_back(O{}.lift(v * T(0.75)));
    for (auto _ : state) {
        combine<held>(O{}, a.data(), b.data(), a.data(), a.size());
        benchmark::ClobberMemory();
    }
    items(state, a.size());
    state.counters["bytes"] = sizeof(held);
}
template <class O, class T>
void lower(benchmark::State& state) {
    const auto held = O{}.lift(std::span<const T>(numbers<T>(100, 1)));
    for (auto _ : state) {
        auto copy = held;
        benchmark::DoNotOptimize(copy);
        auto sum = O{}.lower(copy);
        benchmark::DoNotOptimize(sum);
    }
    items(state, 1);
}

BENCHMARK(chain_of_unit<double>);
BENCHMARK(chain<plus, double>);
BENCHMARK(chain<soft_plus<f64_bits>, double>);
BENCHMARK(chain_of_unit<float>);
BENCHMARK(chain<plus, float>);
BENCHMARK(chain<soft_plus<f32_bits>, float>);
BENCHMARK(array<plus, double>);
BENCHMARK(array<soft_plus<f64_bits>, double>);
BENCHMARK(array<min, double>);
BENCHMARK(array<soft_min<f64_bits>, double>);
BENCHMARK(array<plus, float>);
BENCHMARK(array<soft_plus<f32_bits>, float>);
BENCHMARK(array_of_bits<soft_plus<f16_bits>, f16_bits>);
BENCHMARK(array_of_bits<soft_plus<bf16_bits>, bf16_bits>);

BENCHMARK(lift_many<exact_sum, double>);
BENCHMARK(lift_many<limb_sum, double>);
BENCHMARK(lift_many<exact_sum, float>);
BENCHMARK(lift_many<limb_sum, float>);
BENCHMARK(combine_states<exact_sum, double>);
BENCHMARK(combine_states<limb_sum, double>);
BENCHMARK(combine_states<exact_sum, float>);
BENCHMARK(combine_states<limb_sum, float>);
BENCHMARK(lower<exact_sum, double>);
BENCHMARK(lower<limb_sum, double>);

} // namespace
