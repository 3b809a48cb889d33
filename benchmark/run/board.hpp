// SPDX-License-Identifier: BSL-1.0
// What benchmarks share that fork their ranks by themselves: memory that all see, and a wire-up through it.
#ifndef BOUGH_BENCHMARK_RUN_BOARD_HPP
#define BOUGH_BENCHMARK_RUN_BOARD_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sched.h>
#include <span>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

// `count` objects that the processes forked from now on share, for good.
template <class T>
T* shared(std::size_t count) {
    void* at =
        ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    T* first = static_cast<T*>(at);
    std::uninitialized_default_construct_n(first, count);
    return first;
}

struct wire_up_board {
    static constexpr bough::rank_t most_ranks = 16;
    std::atomic<std::uint32_t> came{0};
    std::byte said[2][most_ranks * bough::most_wire_up_bytes];
};

class board_wire_up {
public:
    board_wire_up(wire_up_board& board, bough::rank_t rank, bough::rank_t ranks)
        : board_(&board), rank_(rank), ranks_(ranks) {}
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return ranks_; }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        const std::uint64_t last = bough::deadline_after(bough::detail::steady_now_ns(), timeout_ns);
        std::byte* said = board_->said[turn_++ & 1];
        std::memcpy(said + rank_ * mine.size(), mine.data(), mine.size());
        board_->came.fetch_add(1);
        while (board_->came.load() < turn_ * ranks_) {
            if (bough::detail::steady_now_ns() >= last) return {.code = bough::errc::deadline};
            std::this_thread::yield();
        }
        std::memcpy(all.data(), said, all.size());
        return {};
    }

private:
    wire_up_board* board_;
    bough::rank_t rank_, ranks_;
    std::uint32_t turn_ = 0;
};

// Runs body(rank), which returns 0 if all is well, in a process for each rank, and waits for their ends. If
// a rank fails, the program ends. `pinned`: rank r runs on core r.
template <class F>
void fork_ranks(bough::rank_t ranks, bool pinned, F&& body) {
    std::fflush(stdout);
    for (bough::rank_t r = 0; r != ranks; ++r)
        if (::fork() == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(r, &set);
            if (pinned) ::sched_setaffinity(0, sizeof set, &set);
            const int failed = body(r);
            std::fflush(stdout);
            ::_exit(failed);
        }
    for (int bad = 0; ::wait(&bad) > 0;)
        if (bad != 0) std::fprintf(stderr, "a rank failed\n"), std::exit(1);
}

inline double median(std::vector<double> x) {
    std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
    return x[x.size() / 2];
}

#endif
