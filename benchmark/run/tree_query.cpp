// SPDX-License-Identifier: BSL-1.0
// What it costs to ask a tree of 10^9 ranks for a parent, a number of children and a child, beside the lookup of a parent
// in a table (of 2^24 ranks only: the whole of 10^9 would take 4 GB).
//
// The degree is hidden from the optimiser: a program that fixes it in the source is faster.
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr bough::rank_t many = 1'000'000'000;
constexpr std::size_t samples = 4096;

std::vector<bough::rank_t> random_ranks(bough::rank_t size) {
    std::vector<bough::rank_t> ranks(samples);
    std::uint64_t state = 42;
    for (bough::rank_t& r : ranks) {
        state = state * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
        r = static_cast<bough::rank_t>((state >> 32) % size);
    }
    return ranks;
}

// One rank over and over, or a different one each time.
enum class which { seven, random };

template <class Query>
void ask(benchmark::State& state, which ranks, bough::rank_t size, Query query) {
    const std::vector<bough::rank_t> r =
        ranks == which::random ? random_ranks(size) : std::vector<bough::rank_t>(samples, 7);
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(query(r[i++ % samples]));
}

bough::tree<bough::fnomial> hidden(bough::rank_t degree) {
    benchmark::DoNotOptimize(degree);
    return {bough::fnomial{.degree = degree}, many};
}

void parent(benchmark::State& state, bough::rank_t degree, which ranks) {
    const auto tree = hidden(degree);
    ask(state, ranks, many, [&](bough::rank_t r) { return tree.parent(r); });
}
void child_count(benchmark::State& state, bough::rank_t degree, which ranks) {
    const auto tree = hidden(degree);
    ask(state, ranks, many, [&](bough::rank_t r) { return tree.child_count(r); });
}
// The first child in send order, of ranks that have some: multiples of the degree squared.
void first_child(benchmark::State& state, bough::rank_t degree) {
    const auto tree = hidden(degree);
    std::vector<bough::rank_t> parents = random_ranks(many - degree * degree);
    for (bough::rank_t& r : parents) r = r / (degree * degree) * (degree * degree);
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(tree.child(parents[i++ % samples], 0));
}

void parent_in_source(benchmark::State& state) {
    const bough::tree tree{bough::fnomial{.degree = 4}, many};
    ask(state, which::random, many, [&](bough::rank_t r) { return tree.parent(r); });
}

void parent_from_table(benchmark::State& state, which ranks) {
    const bough::tree tree{bough::fnomial{.degree = 4}, 1u << 24};
    std::vector<bough::rank_t> parents(tree.size());
    for (bough::rank_t r = 0; r != tree.size(); ++r) parents[r] = tree.parent(r);
    ask(state, ranks, tree.size(), [&](bough::rank_t r) { return parents[r]; });
}

} // namespace

BENCHMARK_CAPTURE(parent_from_table, rank_7, which::seven);
BENCHMARK_CAPTURE(parent_from_table, random, which::random);
BENCHMARK(parent_in_source);
BENCHMARK_CAPTURE(parent, 2_rank_7, 2, which::seven);
BENCHMARK_CAPTURE(parent, 3_rank_7, 3, which::seven);
BENCHMARK_CAPTURE(parent, 4_rank_7, 4, which::seven);
BENCHMARK_CAPTURE(parent, 2_random, 2, which::random);
BENCHMARK_CAPTURE(parent, 3_random, 3, which::random);
BENCHMARK_CAPTURE(parent, 4_random, 4, which::random);
BENCHMARK_CAPTURE(child_count, 2_rank_7, 2, which::seven);
BENCHMARK_CAPTURE(child_count, 3_rank_7, 3, which::seven);
BENCHMARK_CAPTURE(child_count, 4_rank_7, 4, which::seven);
BENCHMARK_CAPTURE(child_count, 2_random, 2, which::random);
BENCHMARK_CAPTURE(child_count, 3_random, 3, which::random);
BENCHMARK_CAPTURE(child_count, 4_random, 4, which::random);
BENCHMARK_CAPTURE(first_child, 2, 2);
BENCHMARK_CAPTURE(first_child, 3, 3);
BENCHMARK_CAPTURE(first_child, 4, 4);
