// SPDX-License-Identifier: BSL-1.0
// What the programs of this folder have in common: the things that go wrong, and how a rank says what it saw.
//
//   op        rank 1 calls an allreduce with max, the others with plus
//   length    rank 1 passes two elements to an allreduce, the others one
//   root      rank 1 takes itself for the root of a reduce, the others take rank 0
//   death     rank 1 is killed (SIGKILL) before an allreduce
//   stop      rank 1 is stopped (SIGSTOP) before an allreduce
//   late      rank 1 joins 3 s after the others
//   nan       an allreduce with max of 1, 2, 3 and 4; in three further calls rank 0, 1 or 2 has a NaN
//             in place of its number
//   flood     rank 0 makes 50,000 broadcasts of 4 KiB to rank 1, which for 3 s waits for rank 2 in
//             another group first
// There are three ranks, and four for nan. Whoever has deadlines uses 5 s.
#ifndef BOUGH_BENCHMARK_FAILURES_TOLD_HPP
#define BOUGH_BENCHMARK_FAILURES_TOLD_HPP

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace failures {

inline constexpr int flood_calls = 50'000;
inline constexpr int flood_bytes = 4096;
inline constexpr std::chrono::seconds deadline{5}, late{3};
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

// MiB of memory that this process has had at the most.
inline double most_mib() {
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;)
        if (word == "VmHWM:") {
            double kib = 0;
            in >> kib;
            return kib / 1024;
        }
    return 0;
}

// Prints `rank R, after T ms: ...`, with the time since it was made.
class told {
public:
    explicit told(unsigned rank) : rank_(rank) {}
    void say(const char* format, ...) const {
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin_;
        char text[512];
        std::va_list values;
        va_start(values, format);
        std::vsnprintf(text, sizeof text, format, values);
        va_end(values);
        std::printf("rank %u, after %.0f ms: %s\n", rank_, took.count(), text);
        std::fflush(stdout);
    }

private:
    unsigned rank_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

inline unsigned ranks_of(std::string_view what) { return what == "nan" ? 4 : 3; }

} // namespace failures

#endif
