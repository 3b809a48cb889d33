// SPDX-License-Identifier: BSL-1.0
// Trees for ranks that differ in speed, on real ranks that were made to: 16 threads, or processes over shared memory, some
// fast, the others 2.15 times as slow (as on the cluster of Banikazemi et al. 1998). The baseline is the binomial tree of
// rank numbers.
//
// Ranks sleep for their costs (bough/transport/emulated.hpp), so few cores do. Counters: what the model predicts, the median
// and the least measured, in ms: from the moment when all ranks are ready until the last one has the message. And what is
// gained over the naive trees, which are measured first: of the least times, and as predicted.
#include <bough/broadcast.hpp>
#include <bough/multicast.hpp>
#include <bough/multicasts.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/multicasts.hpp>
#include <bough/tree/spoc.hpp>
#include <bough/tree/tree.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <bough/launch.hpp>
#include <bough/transport/shared_memory.hpp>

#include <sys/mman.h>
#endif

namespace {

using namespace bough;

constexpr rank_t ranks = 16;
constexpr double fast_ns = 2e6, slow_ns = 2.15 * fast_ns;
constexpr int repetitions = 31;
// 0: threads, 1: processes.
std::vector<std::int64_t> transports() {
#if defined(__linux__)
    return {0, 1};
#else
    return {0};
#endif
}

// The root is fast; the others that are have no pattern.
constexpr rank_t fast_first[ranks] = {0, 5, 11, 14, 3, 8, 13, 6, 1, 2, 4, 7, 9, 10, 12, 15};
std::vector<double> costs_of(std::int64_t fast) {
    std::vector<double> costs(ranks, slow_ns);
    for (std::int64_t i = 0; i != fast; ++i) costs[fast_first[i]] = fast_ns;
    return costs;
}

enum : std::int64_t { naive, spoc, fnf, independent = 1, balanced = 2 };
table tree_of(std::int64_t kind, std::span<const double> costs) {
    if (kind == spoc) return spoc_tree(costs);
    if (kind == fnf) return fnf_tree(costs);
    return table(tree(binomial{}, static_cast<rank_t>(costs.size())));
}

// What the ranks tell: when a repetition began and when it ended at each, all by one clock.
struct board {
    std::atomic<std::uint32_t> came{0};
    std::uint64_t begin[repetitions];
    std::uint64_t end[ranks][repetitions];

    // Until all ranks have come so many times.
    void together(std::uint32_t times) {
        came.fetch_add(1);
        while (came.load() < times * ranks) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
};
std::uint64_t clock_ns() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
}

// f(transport, board) on all ranks: threads.
template <class F>
void run_threads(const F& f, board& told) {
    in_process{ranks}.run([&](auto transport) { f(std::move(transport), told); });
}
#if defined(__linux__)
// Processes of this machine.
template <class F>
void run_processes(const F& f, board& told) {
    const launch_options limit{.timeout_ns = 60'000'000'000, .grace_ns = 1'000'000'000};
    const launch_report report = launch(
        ranks, [&](job mine) { f(shared_memory{mine}, told); }, limit);
    if (!report.ok()) throw std::runtime_error(describe(report));
}
#endif

// collective(comm, word) on all ranks, `repetitions` times: milliseconds, ascending.
template <class F>
std::vector<double> run(bool processes, std::span<const double> costs, const F& collective,
                        std::span<const double> receive = {}) {
    emulation cluster;
    for (const double ns : receive) cluster.receive.push_back({ns, 0});
    for (const double ns : costs) cluster.send.push_back({ns, 0});
    const auto rank = [&](auto transport, board& told) {
        const rank_t me = transport.rank();
        communicator comm{emulated{std::move(transport), cluster}};
        int word = 0;
        for (std::uint32_t i = 0; i != repetitions; ++i) {
            told.together(i + 1);
            if (me == 0) told.begin[i] = clock_ns();
            collective(comm, std::span(&word, 1));
            told.end[me][i] = clock_ns();
        }
    };
#if defined(__linux__)
    // Memory that children share.
    void* const at = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    const std::unique_ptr<board, void (*)(board*)> told(new (at) board, [](board* b) { ::munmap(b, sizeof *b); });
    if (processes)
        run_processes(rank, *told);
    else
        run_threads(rank, *told);
#else
    if (processes) throw std::runtime_error("processes: need Linux");
    const auto told = std::make_unique<board>();
    run_threads(rank, *told);
#endif
    std::vector<double> ms;
    for (std::size_t i = 0; i != repetitions; ++i) {
        std::uint64_t last = 0;
        for (const auto& of_rank : told->end) last = std::max(last, of_rank[i]);
        ms.push_back(static_cast<double>(last - told->begin[i]) / 1e6);
    }
    std::sort(ms.begin(), ms.end());
    return ms;
}

// Of the naive trees that were measured last.
double naive_ms = 0, naive_predicted_ns = 0;

void report(benchmark::State& state, const std::vector<double>& ms, double predicted_ns) {
    if (state.range(0) == naive) naive_ms = ms[0], naive_predicted_ns = predicted_ns;
    state.counters["gain"] = naive_ms / ms[0];
    state.counters["predicted_gain"] = naive_predicted_ns / predicted_ns;
    state.SetIterationTime(ms[0] / 1e3); // as the paper: the least
    state.counters["predicted_ms"] = predicted_ns / 1e6;
    state.counters["median_ms"] = ms[repetitions / 2];
    state.counters["least_ms"] = ms[0];
}

void broadcast_16(benchmark::State& state) {
    const auto costs = costs_of(state.range(1));
    const std::span<const double> send(costs);
    const table over = tree_of(state.range(0), send);
    for (auto _ : state)
        report(state,
               run(state.range(2) != 0, send, [&](auto& comm, auto word) { broadcast(comm, word, root{0}, over); }),
               broadcast_time(over, send));
}

// To 8 of 16 (the paper's 7.1.3), of which so many are fast.
void multicast_8_of_16(benchmark::State& state) {
    const auto fast = static_cast<std::size_t>(state.range(1));
    const auto costs = costs_of(state.range(1));
    std::vector<rank_t> members(fast_first + 1, fast_first + fast);
    members.insert(members.end(), fast_first + 8, fast_first + 16 - fast);
    std::sort(members.begin(), members.end());
    std::vector<double> send{costs[0]};
    for (const rank_t m : members) send.push_back(costs[m]);
    const table over = tree_of(state.range(0), send);
    for (auto _ : state)
        report(
            state,
            run(state.range(2) != 0, costs,
                [&](auto& comm, auto word) { multicast(comm, word, std::span<const rank_t>(members), root{0}, over); }),
            broadcast_time(over, std::span<const double>(send)));
}

// From so many sources, each to all others; half of the ranks are fast. What a rank does is listed in an order.
void multicasts_to_15(benchmark::State& state) {
    const auto costs = costs_of(8);
    std::vector<multicast_request> wanted;
    std::vector<table> binomials;
    for (std::int64_t k = 0; k != state.range(1); ++k) {
        wanted.push_back({fast_first[15 - 2 * k], {}}); // slow and fast ones
        for (rank_t r = 0; r != ranks; ++r)
            if (r != wanted.back().root) wanted.back().members.push_back(r);
        binomials.emplace_back(tree(binomial{}, ranks));
    }
    const std::vector<double> receive(ranks, 0.1 * fast_ns); // so that ranks wait for what they take in
    const tree_costs<double> all{.send = costs, .receive = receive};
    const std::span<const multicast_request> asked(wanted);
    const auto made = state.range(0) == naive         ? schedule_multicasts(all, asked, binomials)
                      : state.range(0) == independent ? independent_multicasts(all, asked)
                                                      : balanced_multicasts(all, asked);
    const auto plan = plan_multicasts(wanted, made.order, {.size = ranks});
    for (auto _ : state)
        report(state,
               run(
                   state.range(2) != 0, costs,
                   [&](auto& comm, auto) {
                       std::vector<int> words(wanted.size(), 1);
                       multicasts(comm, std::span(words), asked, plan);
                   },
                   receive),
               made.makespan);
}

BENCHMARK(broadcast_16)
    ->ArgNames({"naive_spoc_fnf", "fast", "processes"})
    ->ArgsProduct({{naive, spoc, fnf}, {2, 4, 8}, transports()})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(multicast_8_of_16)
    ->ArgNames({"naive_spoc_fnf", "fast", "processes"})
    ->ArgsProduct({{naive, spoc, fnf}, {1, 2, 4}, transports()})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

BENCHMARK(multicasts_to_15)
    ->ArgNames({"naive_independent_balanced", "sources", "processes"})
    ->ArgsProduct({{naive, independent, balanced}, {2, 4, 8}, transports()})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

} // namespace
