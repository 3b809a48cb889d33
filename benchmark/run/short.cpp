// SPDX-License-Identifier: BSL-1.0
// Short collectives over processes of one node, beside the least that such an exchange can cost, in turns in the same run.
//
//   bench-short [rounds [p [what]]]      p = 2: pinned to a core each, if there are two; p = 4, 8, 16: as many as there are
//                                        what: only the rows that begin so, as reduce
//
// The floor is written by hand for this one case: each rank writes 8 bytes and a number into a line of each other rank,
// waits for the lines of the others, and yields where ranks share cores. No call is matched, nobody is missed, and
// nothing can fail. Times are per operation, medians over rounds; a ratio is the median of the rounds' ratios, bough / floor.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using bough::rank_t;
using clock_type = std::chrono::steady_clock;

struct alignas(64) flagged_line {
    std::atomic<std::uint64_t> number{0};
    double values[7]{};
};
struct result {
    double floor_ns = 0, bough_ns = 0, ratio = 0;
};
constexpr const char* names[] = {"allreduce 8 B", "allreduce 56 B", "barrier",    "allgather 8 B",
                                 "scan 8 B",      "exscan 8 B",     "reduce 8 B", "broadcast 8 B"};
struct board : wire_up_board {
    flagged_line lines[2][most_ranks][most_ranks]; // odd and even calls, to, from
    result results[std::size(names)];
};

struct rank_run {
    board& shared;
    int rounds;
    bool yields;
    std::string_view only; // rows that begin so
    bough::communicator<bough::shared_memory> comm;
    std::uint64_t number = 0;

    // All to all, one line each.
    void exchange(double* x, std::size_t n) {
        const rank_t me = comm.rank(), p = comm.size();
        auto& lines = shared.lines[++number & 1];
        for (rank_t r = me + 1; r != me + p; ++r) {
            flagged_line& line = lines[r % p][me];
            std::copy_n(x, n, line.values);
            line.number.store(number, std::memory_order_release);
        }
        double sum[7]{};
        for (rank_t r = 0; r != p; ++r) {
            const flagged_line& line = lines[me][r];
            for (std::uint32_t idle = 0; r != me && line.number.load(std::memory_order_acquire) != number;)
                yields && ++idle % 16 == 0 ? static_cast<void>(::sched_yield()) : bough::detail::relax();
            for (std::size_t i = 0; i != n; ++i) sum[i] += r == me ? x[i] : line.values[i];
        }
        std::copy_n(sum, n, x);
    }
    template <class F>
    double time(int operations, F&& body) {
        bough::barrier(comm);
        const auto begin = clock_type::now();
        for (int i = 0; i != operations; ++i) body(i);
        return std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / operations;
    }
    template <class F>
    void beside_floor(std::size_t which, std::size_t n, F&& ours) {
        if (!std::string_view(names[which]).starts_with(only)) return;
        double y[7]{};
        const auto floor = [&](int i) {
            std::fill_n(y, n, i);
            exchange(y, n);
            if (y[0] != i * double(comm.size())) std::abort();
        };
        time(64, floor);
        int operations = static_cast<int>(std::clamp(5e6 / time(64, ours), 16.0, 1e5));
        bough::broadcast(comm, std::span(&operations, 1), bough::root{0});
        std::vector<double> first, second, ratio;
        for (int k = 0; k != rounds; ++k) {
            const bool turned = k % 2 != 0;
            if (turned) second.push_back(time(operations, ours));
            first.push_back(time(operations, floor));
            if (!turned) second.push_back(time(operations, ours));
            ratio.push_back(second.back() / first.back());
        }
        if (comm.rank() == 0) shared.results[which] = {median(first), median(second), median(ratio)};
    }
    void run() {
        const double p = comm.size();
        double x[7]{}, y = 0;
        std::vector<double> all(comm.size());
        const auto sum = [&](std::size_t n) {
            return [&, n](int i) {
                std::fill_n(x, n, i);
                bough::allreduce(comm, std::span(x, n), bough::plus{});
                if (x[0] != p * i) std::abort();
            };
        };
        beside_floor(0, 1, sum(1));
        beside_floor(1, 7, sum(7));
        beside_floor(2, 1, [&](int) { bough::barrier(comm); });
        beside_floor(3, 1, [&](int i) {
            y = i;
            bough::allgather(comm, std::span(&y, 1), std::span(all));
            if (all.front() != i || all.back() != i) std::abort();
        });
        beside_floor(4, 1, [&](int i) {
            y = i;
            bough::scan(comm, std::span(&y, 1), bough::plus{});
            if (y != (comm.rank() + 1.0) * i) std::abort();
        });
        beside_floor(5, 1, [&](int i) {
            y = i;
            bough::exscan(comm, std::span(&y, 1), bough::plus{});
            if (comm.rank() != 0 && y != double(comm.rank()) * i) std::abort();
        });
        beside_floor(6, 1, [&](int i) {
            y = i;
            bough::reduce(comm, std::span(&y, 1), bough::plus{}, bough::root{0});
            if (comm.rank() == 0 && y != p * i) std::abort();
        });
        beside_floor(7, 1, [&](int i) {
            y = comm.rank() == 0 ? i : -1;
            bough::broadcast(comm, std::span(&y, 1), bough::root{0});
            if (y != i) std::abort();
        });
    }
};

void over_processes(rank_t ranks, bool pinned, int rounds, std::string_view what) {
    board* b = shared<board>(1);
    fork_ranks(ranks, pinned, [&](rank_t r) {
        board_wire_up wire(*b, r, ranks);
        rank_run{*b, rounds, !pinned, what, bough::communicator{bough::shared_memory{wire}}}.run();
        return 0;
    });
    for (std::size_t i = 0; i != std::size(names); ++i) {
        if (b->results[i].floor_ns == 0) continue;
        std::printf("p = %2u  %-14s  floor %7.0f ns   bough %7.0f ns   %5.2f x\n", ranks, names[i],
                    b->results[i].floor_ns, b->results[i].bough_ns, b->results[i].ratio);
    }
    ::munmap(b, sizeof *b);
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 3, "bench-short [rounds [2|4|8|16 [what]]]");
    const int rounds = given.number<int>(1, "rounds", 1, 1'000'000, 21);
    const unsigned cores = std::thread::hardware_concurrency();
    std::printf("%u cores; medians over %d rounds, and of the rounds' ratios\n", cores, rounds);
    const std::string_view only = given.word(2, "ranks", {"2", "4", "8", "16"});
    const std::string what = given.text(3, "what");
    for (const rank_t ranks : {2u, 4u, 8u, 16u})
        if (only.empty() || only == std::to_string(ranks)) over_processes(ranks, cores >= ranks, rounds, what);
}
