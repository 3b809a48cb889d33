// SPDX-License-Identifier: BSL-1.0
// What a reduce costs ranks that come at different times: the CPU-utilisation benchmark of Wagner et al., Application-Bypass
// Reduction for Large-Scale Clusters, Cluster 2003, section VI, for anything that has a world and ways to reduce.
//
// In each iteration every rank sleeps until its own arrival, a random time in [0, skew) after a start that all agree on,
// reduces, and is at work elsewhere until a common end. Work is sleep: what the process clock then counts beyond an
// iteration without a reduce was burned by the reduce. (The paper computes instead, and subtracts. Sleeping leaves the
// cores free, so more ranks than cores do not wait for each other; a machine whose cores are all busy is kinder to
// nobody.) The result is there after the last combine, whichever rank makes it: the op takes the time itself.
#ifndef BOUGH_BENCHMARK_SKEW_SKEWED_HPP
#define BOUGH_BENCHMARK_SKEW_SKEWED_HPP

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <sys/prctl.h>
#include <vector>

namespace skewed {

inline std::int64_t clock_ns(clockid_t which) {
    timespec t{};
    ::clock_gettime(which, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}
inline std::int64_t now_ns() { return clock_ns(CLOCK_MONOTONIC); }
inline std::int64_t burned_ns() { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }
inline void sleep_until(std::int64_t ns) {
    const timespec t{ns / 1'000'000'000, ns % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
    }
}
inline void sleep_exactly() { ::prctl(PR_SET_TIMERSLACK, 1); } // once in each thread

inline std::int64_t last_combine_ns = 0; // of this process

// Set-up of one line of the table.
struct point {
    int ranks = 4;
    int count = 4; // doubles
    int skew_us = 1000;
    int iterations = 200;
};

// World: rank(), size(), barrier(), most(int64) -> the greatest of all ranks, total(double) -> the sum over all ranks.
// reduce(end_ns): arrives, and returns at end_ns or later, with the operation complete on this rank.
template <class World, class Reduce>
void measure(World& world, const point& at, const char* name, double& idle_us, Reduce&& reduce) {
    std::uint64_t state = 88172645463325252u + static_cast<std::uint64_t>(world.rank()) * 7919;
    const auto random = [&](std::int64_t below) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return below == 0 ? 0 : static_cast<std::int64_t>(state % static_cast<std::uint64_t>(below));
    };
    double burned = 0;
    std::vector<double> late; // of the result behind the last arrival, us
    for (int i = 0; i != at.iterations + 5; ++i) {
        const std::int64_t start = world.most(now_ns()) + 500'000;
        const std::int64_t end = start + at.skew_us * std::int64_t{1000} + 1'500'000;
        sleep_until(start);
        const std::int64_t before = burned_ns();
        sleep_until(start + random(at.skew_us * std::int64_t{1000}));
        const std::int64_t arrived = now_ns();
        reduce(end);
        const std::int64_t after = burned_ns();
        const std::int64_t last = world.most(arrived);
        const std::int64_t done = world.most(last_combine_ns);
        if (i < 5) continue; // warms up
        burned += static_cast<double>(after - before) / 1e3;
        late.push_back(static_cast<double>(done - last) / 1e3);
    }
    const double each = world.total(burned) / at.iterations / world.size();
    std::sort(late.begin(), late.end());
    if (world.rank() != 0) return;
    if (idle_us < 0) { // the iteration without a reduce
        idle_us = each;
        return;
    }
    std::printf("p = %2d, %3d doubles, skew %4d us  %-34s burned %7.1f us a rank; done %7.1f us after the last came "
                "(p90 %7.1f)\n",
                at.ranks, at.count, at.skew_us, name, each - idle_us, late[late.size() / 2],
                late[late.size() * 9 / 10]);
    std::fflush(stdout);
}

} // namespace skewed

#endif
