// SPDX-License-Identifier: BSL-1.0
// What one allreduce of 8 bytes costs when many are in flight: started by both ranks one after the other (in step), or all
// by rank 1 before rank 0 starts any, so that their messages are early there. One thread drives both ranks.
//
//   bench-in_flight [operations]       10, 100, 1000 and 16,000, or as many
//
// For each: ns an operation and rank, the median of 5; once warm.
#include "../arguments.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using namespace bough;
using end = in_process::endpoint;

// Binds `count` operations on each rank.
struct two_ranks {
    explicit two_ranks(std::size_t count)
        : world(2), zero(world.connect(0)), one(world.connect(1)), x(count), y(count) {
        for (std::size_t i = 0; i != count; ++i) {
            of_zero.push_back(bind_allreduce(zero, std::span(x).subspan(i, 1), plus{}, recursive_doubling{}));
            of_one.push_back(bind_allreduce(one, std::span(y).subspan(i, 1), plus{}, recursive_doubling{}));
        }
    }
    void finish() {
        for (std::size_t i = 0; i != x.size(); ++i)
            while (!of_zero[i].poll() || !of_one[i].poll()) zero.progress(), one.progress();
        for (std::size_t i = 0; i != x.size(); ++i)
            if (of_zero[i].result() || of_one[i].result() || x[i] != 3 || y[i] != 3)
                std::fputs("wrong result\n", stderr), std::exit(1);
    }
    void prepare() { x.assign(x.size(), 1), y.assign(y.size(), 2); }
    void in_step() {
        for (std::size_t i = 0; i != x.size(); ++i) of_zero[i].start(), of_one[i].start();
        finish();
    }
    void ahead() {
        for (auto& op : of_one) op.start(), zero.progress(), one.progress();
        for (auto& op : of_zero) op.start();
        finish();
    }

    in_process world;
    communicator<end> zero, one;
    std::vector<std::uint64_t> x, y;
    std::vector<persistent_operation> of_zero, of_one;
};

template <class F>
double median_ns(two_ranks& ranks, F&& f) {
    std::vector<double> all;
    for (int i = 0; i != 6; ++i) {
        ranks.prepare();
        const auto start = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        if (i != 0) all.push_back(took.count() / 2 / static_cast<double>(ranks.x.size()));
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 1, "bench-in_flight [operations]");
    const auto only = given.number<std::size_t>(1, "operations", 1, 1'000'000, 0);
    std::printf("%10s %14s %14s\n", "in flight", "in step, ns", "ahead, ns");
    for (const std::size_t count : {std::size_t{10}, std::size_t{100}, std::size_t{1000}, std::size_t{16'000}, only}) {
        if (count == 0 || (only != 0 && count != only)) continue;
        two_ranks ranks(count);
        const double in_step = median_ns(ranks, [&] { ranks.in_step(); });
        const double ahead = median_ns(ranks, [&] { ranks.ahead(); });
        std::printf("%10zu %14.0f %14.0f\n", count, in_step, ahead);
        if (only != 0) break;
    }
}
