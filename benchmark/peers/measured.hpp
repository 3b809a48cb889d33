// SPDX-License-Identifier: BSL-1.0
// What every library of the comparison is put through, in the same form; only how it is called differs.
//
// A Group has
//   rank(), size()
//   allreduce(in, out)                       sum of doubles
//   located, locate(in, out)                 {value, location} in 16 bytes, and minloc of them; both may be missing
//   barrier()
//   broadcast_from_0(int&)
// Inside the clock every rank rewrites its input, runs the collective, and reads its whole result, which is checked. Rank 0
// prints lines of  <what> <bytes> <microseconds>,  medians of a few repetitions.
#ifndef BOUGH_BENCHMARK_PEERS_MEASURED_HPP
#define BOUGH_BENCHMARK_PEERS_MEASURED_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
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

template <class Group, class F>
void time_it(Group& group, const char* what, std::size_t bytes, F&& once) {
    using clock = std::chrono::steady_clock;
    const auto us_of = [&](int operations) {
        group.barrier();
        const auto begin = clock::now();
        for (int i = 0; i != operations; ++i) once(i);
        return std::chrono::duration<double, std::micro>(clock::now() - begin).count() / operations;
    };
    us_of(3);                                                                        // plans, pages, connections
    int operations = static_cast<int>(std::clamp(20'000 / us_of(5), 3.0, 20'000.0)); // some 20 ms
    group.broadcast_from_0(operations);
    std::vector<double> us;
    for (int i = 0; i != 5; ++i) us.push_back(us_of(operations));
    if (group.rank() == 0) std::printf("%s %zu %.4f\n", what, bytes, median(us)), std::fflush(stdout);
}

template <class Group>
void measure(Group& group) {
    const bool crowded = group.size() > 2;
    std::vector<std::size_t> sizes{8, 1024, 8192, 65536, 1 << 20, 16 << 20};
    if (crowded) sizes = {8, 8192, 65536, 1 << 20};
    for (const std::size_t bytes : sizes) {
        std::vector<double> in(bytes / sizeof(double)), out(in.size());
        time_it(group, "allreduce", bytes, [&](int i) {
            std::fill(in.begin(), in.end(), i + 1.0);
            group.allreduce(in, out);
            double differ = 0;
            for (const double x : out) differ += x == group.size() * (i + 1.0) ? 0 : 1;
            if (differ != 0) wrong_result("allreduce");
        });
    }
    time_it(group, "barrier", 0, [&](int) { group.barrier(); });
    if constexpr (requires { typename Group::located; }) {
        using located = typename Group::located;
        static_assert(sizeof(located) == 16);
        const auto me = static_cast<decltype(located::location)>(group.rank());
        std::vector<located> in(65536 / sizeof(located)), out(in.size());
        time_it(group, "minloc", 65536, [&](int i) {
            for (located& x : in) x.value = i + static_cast<double>(group.rank()), x.location = me;
            group.locate(in, out);
            int differ = 0;
            for (const located& x : out) differ += x.value != i || x.location != 0;
            if (differ != 0) wrong_result("minloc");
        });
    }
}

} // namespace peers

#endif
