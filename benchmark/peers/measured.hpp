// SPDX-License-Identifier: BSL-1.0
// What every library of the comparison is put through, in the same form; only how it is called differs.
//
// A Group has, of vectors of doubles,
//   rank(), size()
//   allreduce(in, out)                       their sums
//   reduce(in, out)                          the same, at rank 0
//   broadcast(x)                             from rank 0
//   allgather(in, out)                       out is size() times as long
//   reduce_scatter(in, out)                  in is size() times as long
//   scan(in, out)
//   alltoall(in, out)
//   gather(in, out), scatter(in, out), exscan(in, out)    of rank 0; measured only if WHAT names them
//   located, locate(in, out)                 {value, location} in 16 bytes, and minloc of them
//   barrier()
//   broadcast_from_0(int&)
// All but the last two may be missing. Inside the clock every rank rewrites its input, runs the collective, and reads its
// whole result, which is checked; with UNTOUCHED=1 it only runs the collective. The clock of rank 0 goes on until all ranks
// have done all calls. A barrier tells that; what a barrier takes by itself is subtracted. Bytes are those of the longest
// buffer of a rank, and at least 8 for each block. Rank 0 prints lines of  <what> <bytes> <microseconds>,  medians of a few
// repetitions.
// WHAT="scan barrier": only these. LARGEST=65536: no longer buffers.
#ifndef BOUGH_BENCHMARK_PEERS_MEASURED_HPP
#define BOUGH_BENCHMARK_PEERS_MEASURED_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <string_view>
#include <vector>

namespace peers {

inline double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}
[[noreturn]] inline void wrong_result(const char* what) {
    std::fprintf(stderr, "wrong result of %s\n", what);
    std::_Exit(1);
}

// Two ranks have a core each, if there are two.
inline void pin(unsigned rank, unsigned size) {
    if (size > 2) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank, &set);
    sched_setaffinity(0, sizeof set, &set);
}

template <class Group>
double median_barrier_us(Group& group) {
    std::vector<double> us;
    for (int i = 0; i != 25; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        group.barrier();
        us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    return median(us);
}

template <class Group, class F>
void time_it(Group& group, const char* what, std::size_t bytes, F&& once) {
    using clock = std::chrono::steady_clock;
    double barrier_us = 0;
    const auto us_of = [&](int operations) {
        group.barrier();
        const auto begin = clock::now();
        for (int i = 0; i != operations; ++i) once(i);
        group.barrier(); // all have done all: rank 0 may be through long before
        const double us = std::chrono::duration<double, std::micro>(clock::now() - begin).count();
        return std::max(us - barrier_us, 0.0) / operations;
    };
    us_of(3); // plans, pages, connections
    int operations = 5;
    barrier_us = median_barrier_us(group);
    for (int i = 0; i != 2; ++i) { // some 20 ms
        operations = static_cast<int>(std::clamp(20'000 / std::max(us_of(operations), 0.01), 3.0, 20'000.0));
        group.broadcast_from_0(operations);
    }
    std::vector<double> us;
    for (int i = 0; i != 5; ++i) us.push_back(us_of(operations));
    if (group.rank() == 0) std::printf("%s %zu %.4f\n", what, bytes, median(us)), std::fflush(stdout);
}

inline bool is_named(std::string_view what) {
    const char* const only = std::getenv("WHAT");
    return only != nullptr && (" " + std::string(only) + " ").find(" " + std::string(what) + " ") != std::string::npos;
}
inline bool is_wanted(std::string_view what) {
    const char* const only = std::getenv("WHAT");
    return only == nullptr || *only == '\0' || is_named(what);
}

// One collective. `run(in, out)`; the input of rank r in call i is in_of(r, i), the result out_of(b, i) in its block b, if
// `has_result`. Elements: in_blocks and out_blocks blocks of `block`.
template <class Group, class Run, class In, class Out>
void measure_one(Group& group, const char* what, std::size_t bytes, std::size_t block, std::size_t in_blocks,
                 std::size_t out_blocks, bool has_result, Run&& run, In&& in_of, Out&& out_of) {
    const bool untouched = std::getenv("UNTOUCHED") != nullptr;
    std::vector<double> in(block * in_blocks, 1), out(block * out_blocks, 1);
    time_it(group, what, bytes, [&](int i) {
        if (!untouched) std::fill(in.begin(), in.end(), in_of(group.rank(), i));
        run(in, out);
        if (untouched || !has_result) return;
        double differ = 0;
        for (std::size_t b = 0; b != out_blocks; ++b) {
            const double expected = out_of(b, i);
            for (std::size_t k = b * block; k != (b + 1) * block; ++k) differ += out[k] == expected ? 0 : 1;
        }
        if (differ != 0) wrong_result(what);
    });
}

template <class Group>
void measure(Group& group) {
    const std::size_t p = group.size();
    const char* const most = std::getenv("LARGEST");
    const std::size_t largest = most != nullptr ? std::strtoull(most, nullptr, 10) : p > 4 ? 4 << 20 : 16 << 20;
    const double all = static_cast<double>(p), me = group.rank();
    const auto plain = [](auto, int i) { return i + 1.0; };
    const auto of_rank = [](auto r, int i) { return i + static_cast<double>(r); };
    for (const std::size_t bytes :
         {8u, 64u, 1u << 10, 8u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20, 16u << 20}) {
        if (bytes > largest) break;
        const std::size_t n = bytes / sizeof(double), block = std::max<std::size_t>(1, n / p);
        if constexpr (requires { &Group::allreduce; })
            if (is_wanted("allreduce"))
                measure_one(
                    group, "allreduce", bytes, n, 1, 1, true, [&](auto& in, auto& out) { group.allreduce(in, out); },
                    plain, [&](auto, int i) { return all * (i + 1.0); });
        if constexpr (requires { &Group::reduce; })
            if (is_wanted("reduce"))
                measure_one(
                    group, "reduce", bytes, n, 1, 1, me == 0, [&](auto& in, auto& out) { group.reduce(in, out); },
                    plain, [&](auto, int i) { return all * (i + 1.0); });
        if constexpr (requires { &Group::broadcast; })
            if (is_wanted("broadcast"))
                measure_one(
                    group, "broadcast", bytes, n, me == 0 ? 1 : 0, me == 0 ? 0 : 1, me != 0,
                    [&](auto& in, auto& out) { group.broadcast(me == 0 ? in : out); }, plain, plain);
        if constexpr (requires { &Group::allgather; })
            if (is_wanted("allgather"))
                measure_one(
                    group, "allgather", bytes, block, 1, p, true,
                    [&](auto& in, auto& out) { group.allgather(in, out); }, of_rank, of_rank);
        if constexpr (requires { &Group::reduce_scatter; })
            if (is_wanted("reduce_scatter"))
                measure_one(
                    group, "reduce_scatter", bytes, block, p, 1, true,
                    [&](auto& in, auto& out) { group.reduce_scatter(in, out); }, plain,
                    [&](auto, int i) { return all * (i + 1.0); });
        if constexpr (requires { &Group::scan; })
            if (is_wanted("scan"))
                measure_one(
                    group, "scan", bytes, n, 1, 1, true, [&](auto& in, auto& out) { group.scan(in, out); }, plain,
                    [&](auto, int i) { return (me + 1) * (i + 1.0); });
        if constexpr (requires { &Group::alltoall; })
            if (is_wanted("alltoall"))
                measure_one(
                    group, "alltoall", bytes, block, p, p, true, [&](auto& in, auto& out) { group.alltoall(in, out); },
                    of_rank, of_rank);
        if constexpr (requires { &Group::gather; })
            if (is_named("gather"))
                measure_one(
                    group, "gather", bytes, block, 1, me == 0 ? p : 0, me == 0,
                    [&](auto& in, auto& out) { group.gather(in, out); }, of_rank, of_rank);
        if constexpr (requires { &Group::scatter; })
            if (is_named("scatter"))
                measure_one(
                    group, "scatter", bytes, block, me == 0 ? p : 0, 1, true,
                    [&](auto& in, auto& out) { group.scatter(in, out); }, plain, plain);
        if constexpr (requires { &Group::exscan; })
            if (is_named("exscan"))
                measure_one(
                    group, "exscan", bytes, n, 1, 1, me != 0, [&](auto& in, auto& out) { group.exscan(in, out); },
                    plain, [&](auto, int i) { return me * (i + 1.0); });
    }
    if (is_wanted("barrier")) time_it(group, "barrier", 0, [&](int) { group.barrier(); });
    if (!is_wanted("minloc")) return;
    if constexpr (requires { typename Group::located; }) {
        using located = typename Group::located;
        static_assert(sizeof(located) == 16);
        const auto mine = static_cast<decltype(located::location)>(group.rank());
        std::vector<located> in(65536 / sizeof(located)), out(in.size());
        time_it(group, "minloc", 65536, [&](int i) {
            for (located& x : in) x.value = i + static_cast<double>(group.rank()), x.location = mine;
            group.locate(in, out);
            int differ = 0;
            for (const located& x : out) differ += x.value != i || x.location != 0;
            if (differ != 0) wrong_result("minloc");
        });
    }
}

} // namespace peers

#endif
