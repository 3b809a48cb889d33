// SPDX-License-Identifier: BSL-1.0
// Small collectives over threads, beside a hand-made exchange through one cache line per side in the same run.
//
//   bench-in_process            p = 2: pinned to two cores if there are two; p = 8, 16: as many as there are
//   bench-in_process one_way    instead: loops of calls that go one way, until all ranks have done them, with rings of 8
//                               slots and with as many as there are by default
// Times are per operation, medians of rounds of many operations. The exchange is the floor: each side writes its value and
// a sequence number into one line and spins on the other's.
#include "../arguments.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace {

using clock_type = std::chrono::steady_clock;

void pin(unsigned core) {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
#else
    (void)core;
#endif
}

struct result {
    double median_ns = 0, fastest_ns = 0, slowest_ns = 0;
};

result summary(std::vector<double> rounds) {
    std::sort(rounds.begin(), rounds.end());
    return {rounds[rounds.size() / 2], rounds.front(), rounds.back()};
}

// Times `operations` calls of body() per round at rank 0, in rounds that all ranks take part in.
template <class Body>
std::vector<double> rounds_of(int rounds, int operations, Body&& body) {
    std::vector<double> times;
    for (int r = 0; r != rounds; ++r) {
        const auto begin = clock_type::now();
        for (int i = 0; i != operations; ++i) body();
        times.push_back(std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / operations);
    }
    return times;
}

// The floor: one line each way.
result exchange_floor(int rounds, int operations) {
    struct alignas(64) line {
        std::atomic<std::uint64_t> sequence{0};
        double value = 0;
    };
    static line lines[2][2];
    std::vector<double> times;
    const auto side = [&](unsigned me) {
        pin(me);
        std::uint64_t n = 0;
        double sum = 0;
        auto measured = rounds_of(rounds, operations, [&] {
            ++n;
            line& mine = lines[me][n & 1];
            line& theirs = lines[1 - me][n & 1];
            mine.value = static_cast<double>(me) + 1;
            mine.sequence.store(n, std::memory_order_release);
            while (theirs.sequence.load(std::memory_order_acquire) != n) {
            }
            sum += mine.value + theirs.value;
        });
        if (sum != 3.0 * static_cast<double>(n)) std::abort();
        if (me == 0) times = measured;
    };
    std::thread other(side, 1u);
    side(0);
    other.join();
    return summary(times);
}

// The floor where ranks share cores: rank 0 collects one line from each other rank and answers on one line; who finds
// nothing yields.
result yielding_floor(bough::rank_t ranks, int rounds, int operations) {
    struct alignas(64) line {
        std::atomic<std::uint64_t> sequence{0};
        double value = 0;
    };
    std::vector<line> up(ranks), down(2);
    std::vector<double> times;
    const auto body = [&](bough::rank_t me) {
        std::uint64_t n = 0;
        const auto until = [&n](const line& l) {
            while (l.sequence.load(std::memory_order_acquire) < n) std::this_thread::yield();
        };
        auto measured = rounds_of(rounds, operations, [&] {
            ++n;
            line& answer = down[n & 1];
            if (me == 0) {
                double sum = 1;
                for (bough::rank_t r = 1; r != ranks; ++r) until(up[r]), sum += up[r].value;
                if (sum != static_cast<double>(ranks)) std::abort();
                answer.value = sum;
                answer.sequence.store(n, std::memory_order_release);
            } else {
                up[me].value = 1;
                up[me].sequence.store(n, std::memory_order_release);
                until(answer);
            }
        });
        if (me == 0) times = measured;
    };
    std::vector<std::thread> threads;
    for (bough::rank_t r = 1; r != ranks; ++r) threads.emplace_back(body, r);
    body(0);
    for (std::thread& t : threads) t.join();
    return summary(times);
}

template <class Operation>
result over_threads(bough::rank_t ranks, int rounds, int operations, bool pinned, const Operation& operation,
                    const bough::in_process_options& options = {}) {
    bough::in_process world{ranks, options};
    std::vector<double> times;
    world.run([&](auto transport) {
        const bough::rank_t me = transport.rank();
        if (pinned) pin(me);
        bough::communicator comm{std::move(transport)};
        for (int i = 0; i != operations / 10 + 1; ++i) operation(comm);
        auto measured = rounds_of(rounds, operations, [&] { operation(comm); });
        if (me == 0) times = measured;
    });
    return summary(times);
}

void print(const char* name, const result& r, double floor_ns) {
    std::printf("%-44s %9.0f ns  (%7.0f .. %9.0f)", name, r.median_ns, r.fastest_ns, r.slowest_ns);
    if (floor_ns > 0) std::printf("  %5.2f x floor", r.median_ns / floor_ns);
    std::printf("\n");
}

// A call of each loop takes what all calls and a barrier take together.
void one_way() {
    constexpr int calls = 2'000;
    const auto in_a_loop = [](const auto& call) {
        return [call](auto& comm) {
            double x = 1;
            for (int i = 0; i != calls; ++i) call(comm, x);
            bough::barrier(comm);
        };
    };
    const auto compare = [](const char* name, bough::rank_t ranks, const auto& loop) {
        // In turns: other programs disturb both.
        std::vector<double> few, usual;
        for (int round = 0; round != 5; ++round) {
            few.push_back(over_threads(ranks, 3, 1, false, loop, {.slots = 8}).median_ns / calls);
            usual.push_back(over_threads(ranks, 3, 1, false, loop).median_ns / calls);
        }
        const double before = summary(few).median_ns, now = summary(usual).median_ns;
        std::printf("p = %2u: %-10s 8 B  %7.0f ns with 8 slots, %7.0f by default: %.2f\n", ranks, name, before, now,
                    now / before);
    };
    for (const bough::rank_t ranks : {2u, 4u, 8u, 16u}) {
        compare("reduce", ranks, in_a_loop([](auto& comm, double& x) {
                    bough::reduce(comm, std::span(&x, 1), bough::plus{}, bough::root{0});
                }));
        compare("broadcast", ranks,
                in_a_loop([](auto& comm, double& x) { bough::broadcast(comm, std::span(&x, 1), bough::root{0}); }));
        compare("scan", ranks,
                in_a_loop([](auto& comm, double& x) { bough::scan(comm, std::span(&x, 1), bough::plus{}); }));
    }
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 1, "bench-in_process [one_way]");
    if (!given.word(1, "what to do", {"one_way"}).empty()) return one_way(), 0;
    const unsigned cores = std::thread::hardware_concurrency();
    std::printf("%u cores; median of 21 rounds (fastest .. slowest)\n", cores);
    const auto eight_bytes = [](auto& comm) {
        double x = 1;
        bough::allreduce(comm, std::span(&x, 1), bough::plus{});
        if (x != static_cast<double>(comm.size())) std::abort();
    };
    if (cores >= 2) {
        const result floor = exchange_floor(21, 100'000);
        print("p = 2: exchange through one line per side", floor, 0);
        print("p = 2: allreduce 8 B", over_threads(2, 21, 100'000, true, eight_bytes), floor.median_ns);
        print("p = 2: barrier", over_threads(2, 21, 100'000, true, [](auto& comm) { bough::barrier(comm); }),
              floor.median_ns);
        for (const std::size_t bytes : {1024u, 8192u, 65536u, 1048576u}) {
            const result r = over_threads(2, 11, static_cast<int>(std::max<std::size_t>(20, 20'000'000 / bytes / 10)),
                                          true, [bytes](auto& comm) {
                                              thread_local std::vector<double> in(bytes / 8, 1.0), out(bytes / 8);
                                              bough::allreduce(comm, std::span(in), std::span(out), bough::plus{});
                                          });
            print(("p = 2: allreduce " + std::to_string(bytes) + " B").c_str(), r, 0);
        }
    }
    for (const bough::rank_t ranks : {4u, 8u, 16u}) {
        const result floor = yielding_floor(ranks, 21, 2'000);
        const std::string name = "p = " + std::to_string(ranks) + ": allreduce 8 B, ";
        print(("p = " + std::to_string(ranks) + ": flat exchange that yields").c_str(), floor, 0);
        print((name + "automatic").c_str(), over_threads(ranks, 21, 2'000, false, eight_bytes), floor.median_ns);
        const auto with = [](const auto& choice) {
            return [choice](auto& comm) {
                double x = 1;
                bough::allreduce(comm, std::span(&x, 1), bough::plus{}, choice);
            };
        };
        print((name + "binomial tree").c_str(), over_threads(ranks, 21, 2'000, false, with(bough::fnomial{2})), 0);
        print((name + "4-nomial tree").c_str(), over_threads(ranks, 21, 2'000, false, with(bough::fnomial{4})), 0);
        print((name + "flat tree").c_str(), over_threads(ranks, 21, 2'000, false, with(bough::fnomial{64})), 0);
        print((name + "recursive doubling").c_str(),
              over_threads(ranks, 21, 2'000, false, with(bough::recursive_doubling{})), 0);
    }
}
