// SPDX-License-Identifier: BSL-1.0
// Numbers of 16 and 8 bits beside float: combines beside a copy that touches the same bytes, and allreduce
// over shared_memory or tcp, in turns in the same run.
//
//   bench-small_floats [ranks [elements [rounds [transport]]]]        transport: shared_memory or tcp
//
// combine: out is the lower operand, so each byte of the vectors is read or written three times in two; the
// copy moves one and a half times their length. Of many, rounded once: four vectors of 256 KiB are read, one
// is written, so the copy moves two and a half of them. allreduce: in and out apart, the same number of
// elements of each type; a ratio is the median of the rounds' ratios.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/quantised_sum.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

namespace {

using bough::rank_t;
using clock_type = std::chrono::steady_clock;

template <class F>
double time_ns(int turns, F&& f) {
    const auto begin = clock_type::now();
    for (int i = 0; i != turns; ++i) f();
    return std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / turns;
}

// --- combines ---

template <class T>
void combine_row(const char* name, int rounds) {
    constexpr std::size_t bytes = std::size_t{1} << 20, count = bytes / sizeof(T);
    std::vector<T> lower(count, T(0.5f)), upper(count, T(-0.0f));
    std::vector<std::byte> from(bytes * 3 / 2, std::byte{1}), to(bytes * 3 / 2);
    std::vector<double> combines, copies, ratios;
    const int turns = sizeof(T) == 1 ? 3 : 20; // about a millisecond, which other programs seldom interrupt
    for (int r = 0; r <= rounds; ++r) {
        const double copy = time_ns(turns, [&] {
            std::memcpy(to.data(), from.data(), to.size());
            asm volatile("" ::: "memory");
        });
        const double combine = time_ns(turns, [&] {
            bough::combine(bough::plus{}, lower.data(), upper.data(), lower.data(), count);
            asm volatile("" ::: "memory");
        });
        if (r == 0) continue;
        combines.push_back(combine), copies.push_back(copy), ratios.push_back(combine / copy);
    }
    std::printf("combine 1 MiB of %-8s  %8.1f us   copy of 1.5 MiB %8.1f us   ratio %5.2f\n", name,
                median(combines) / 1e3, median(copies) / 1e3, median(ratios));
    std::fflush(stdout);
}

template <class T>
void many_row(const char* name, int rounds) {
    constexpr std::size_t bytes = std::size_t{256} << 10, count = bytes / sizeof(T), size = 4;
    std::vector<std::vector<T>> lists(size, std::vector<T>(count, T(0.5f)));
    std::vector<const std::byte*> operands;
    for (const std::vector<T>& one : lists) operands.push_back(reinterpret_cast<const std::byte*>(one.data()));
    std::vector<T> out(count);
    std::vector<std::byte> from(bytes * 5 / 2, std::byte{1}), to(from.size());
    const bough::rounded_once<> op{.after = 0.25f};
    std::vector<double> combines, copies, ratios;
    for (int r = 0; r <= rounds; ++r) {
        const double copy = time_ns(20, [&] {
            std::memcpy(to.data(), from.data(), to.size());
            asm volatile("" ::: "memory");
        });
        const double combine = time_ns(20, [&] {
            op.combine_many<T>(operands.data(), size, reinterpret_cast<std::byte*>(out.data()), count);
            asm volatile("" ::: "memory");
        });
        if (r == 0) continue;
        combines.push_back(combine), copies.push_back(copy), ratios.push_back(combine / copy);
    }
    std::printf("4 x 256 KiB of %-8s, rounded once  %8.1f us   copy of 640 KiB %8.1f us   ratio %5.2f\n", name,
                median(combines) / 1e3, median(copies) / 1e3, median(ratios));
    std::fflush(stdout);
}

// --- allreduce ---

constexpr std::size_t ways = 7;
constexpr std::array<const char*, ways> names{
    "float", "bf16", "fp16", "bf16, rounded once", "fp16, rounded once", "fp8_e5m2", "float, quantised"};

struct board : wire_up_board {
    std::atomic<int> turns{0};
    double ns[ways][64];
};

struct vectors {
    std::vector<float> wide, wide_out;
    std::vector<bough::bf16> brain, brain_out;
    std::vector<bough::fp16> half, half_out;
    std::vector<bough::fp8_e5m2> quarter, quarter_out;
    explicit vectors(std::size_t count)
        : wide(count, 1.f), wide_out(count), brain(count, bough::bf16(1.f)), brain_out(count),
          half(count, bough::fp16(1.f)), half_out(count), quarter(count, bough::fp8_e5m2(1.f)), quarter_out(count) {}
};

template <class Group>
void run(Group& g, vectors& v, std::size_t way) {
    using namespace bough;
    switch (way) {
    case 0: return allreduce(g, std::span<const float>(v.wide), std::span(v.wide_out), plus{});
    case 1: return allreduce(g, std::span<const bf16>(v.brain), std::span(v.brain_out), plus{});
    case 2: return allreduce(g, std::span<const fp16>(v.half), std::span(v.half_out), plus{});
    case 3: return allreduce(g, std::span<const bf16>(v.brain), std::span(v.brain_out), rounded_once{});
    case 4: return allreduce(g, std::span<const fp16>(v.half), std::span(v.half_out), rounded_once{});
    case 5: return allreduce(g, std::span<const fp8_e5m2>(v.quarter), std::span(v.quarter_out), plus{});
    default: return allreduce(g, std::span<const float>(v.wide), std::span(v.wide_out), quantised_sum<>{});
    }
}

template <class Group>
void measure(Group& g, board& b, std::size_t count, int rounds) {
    vectors v(count);
    const auto time = [&](std::size_t way, int turns) {
        bough::barrier(g);
        return time_ns(turns, [&] { run(g, v, way); });
    };
    double slowest = 0;
    for (std::size_t w = 0; w != ways; ++w) time(w, 2), slowest = std::max(slowest, time(w, 2));
    if (g.rank() == 0) b.turns = static_cast<int>(std::clamp(1e7 / slowest, 2.0, 500.0));
    bough::barrier(g);
    const int turns = b.turns;
    for (int r = 0; r != rounds; ++r)
        for (std::size_t w = 0; w != ways; ++w)
            if (const double ns = time(w, turns); g.rank() == 0) b.ns[w][r] = ns;
    if (g.rank() != 0) return;
    for (std::size_t w = 0; w != ways; ++w) {
        std::vector<double> ratios, to_bf16;
        for (int r = 0; r != rounds; ++r) {
            ratios.push_back(b.ns[w][r] / b.ns[0][r]);
            to_bf16.push_back(b.ns[w][r] / b.ns[1][r]);
        }
        std::printf("allreduce of %zu elements, p = %u  %-18s %10.1f us   to float %5.2f   to bf16 %5.2f\n", count,
                    g.size(), names[w], median({b.ns[w], b.ns[w] + rounds}) / 1e3, median(ratios), median(to_bf16));
    }
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 4, "bench-small_floats [ranks [elements [rounds [transport]]]]");
    const auto ranks = given.number<rank_t>(1, "ranks", 2, wire_up_board::most_ranks, 2);
    const auto count = given.number<std::size_t>(2, "elements", 1, std::size_t{1} << 28, std::size_t{1} << 19);
    const int rounds = given.number<int>(3, "rounds", 1, 64, 21);
    const bool over_tcp = given.word(4, "transport", {"shared_memory", "tcp"}, "shared_memory") == "tcp";
    combine_row<float>("float", rounds);
    combine_row<bough::bf16>("bf16", rounds);
    combine_row<bough::fp16>("fp16", rounds);
    combine_row<bough::fp8_e5m2>("fp8_e5m2", rounds);
    combine_row<bough::fp8_e4m3>("fp8_e4m3", rounds);
    many_row<bough::bf16>("bf16", rounds);
    many_row<bough::fp16>("fp16", rounds);
    board* const b = shared<board>(1);
    const unsigned cores = std::thread::hardware_concurrency();
    fork_ranks(ranks, ranks <= cores, [&](rank_t r) {
        board_wire_up wire(*b, r, ranks);
        if (over_tcp) {
            bough::communicator g{bough::tcp{wire}};
            measure(g, *b, count, rounds);
        } else {
            bough::communicator g{bough::shared_memory{wire}};
            measure(g, *b, count, rounds);
        }
        return 0;
    });
    return EXIT_SUCCESS;
}
