// SPDX-License-Identifier: BSL-1.0
// What measurements share: a clock, processes that end with this one, cores that are kept busy, mean and deviation.
#ifndef BOUGH_TOOLS_XDP_SAMPLES_HPP
#define BOUGH_TOOLS_XDP_SAMPLES_HPP

#include "layout.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>
#include <numeric>
#include <span>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace xdp {

inline word now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<word>(t.tv_sec) * 1'000'000'000 + static_cast<word>(t.tv_nsec);
}

inline int checked(long result, const char* what) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), what);
    return static_cast<int>(result);
}

// A child that ends when its parent does, however that ends.
class child {
public:
    template <class F>
    explicit child(F&& f) {
        const pid_t parent = getpid();
        id_ = checked(fork(), "fork");
        if (id_ != 0) return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) f();
        _exit(0);
    }
    child(child&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
    child& operator=(child&&) = delete;
    ~child() {
        if (id_ == 0) return;
        kill(id_, SIGKILL);
        waitpid(id_, nullptr, 0);
    }

private:
    pid_t id_ = 0;
};

// Two loops per core that never end.
inline std::vector<child> busy_loops() {
    std::vector<child> loops;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i != 2 * cores; ++i)
        loops.emplace_back([] {
            for (volatile unsigned spin = 0;;) spin = spin + 1;
        });
    return loops;
}

struct spread {
    double mean = 0, deviation = 0;
};
inline spread spread_of(std::span<const double> sorted) {
    const double n = static_cast<double>(sorted.size());
    const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / n;
    double squares = 0;
    for (const double x : sorted) squares += (x - mean) * (x - mean);
    return {mean, std::sqrt(squares / (n - 1))};
}

} // namespace xdp

#endif
