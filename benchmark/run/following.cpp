// SPDX-License-Identifier: BSL-1.0
// An allreduce to which one rank comes late: with the plan that automatic{} takes, and with
// follow_arrivals, in turns in the same run.
//
//   bench-following [ranks [MiB [late us [rounds]]]]
//
// Each of the two has a group of its own over the same processes, with shared memory. In a round either
// makes one call, after a barrier; the last rank sleeps before it. A time is from the arrival of the
// last rank to the last end. A median is over all rounds but the first ones, in which nothing is known
// yet; the ratio is the median of the rounds' ratios. The clock is that of the machine, which all
// processes share.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/decision.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/os/clock.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/shared_memory.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using bough::rank_t;
using group = bough::communicator<bough::shared_memory>;

constexpr std::uint32_t every = 4;
constexpr int first_rounds = 3 * static_cast<int>(every);

struct board : wire_up_board {
    std::atomic<std::uint64_t> came{0}, ended{0}; // the latest
};

void raise(std::atomic<std::uint64_t>& most, std::uint64_t ns) {
    for (std::uint64_t now = most; now < ns && !most.compare_exchange_weak(now, ns);) {
    }
}

// The time of one call, in ns; on rank 0.
std::uint64_t time(group& comm, board& b, std::vector<double>& x, std::chrono::microseconds late) {
    std::fill(x.begin(), x.end(), comm.rank());
    if (comm.rank() == 0) b.came = b.ended = 0;
    bough::barrier(comm);
    if (comm.rank() == comm.size() - 1) std::this_thread::sleep_for(late);
    raise(b.came, bough::detail::steady_now_ns());
    bough::allreduce(comm, x, bough::plus{});
    raise(b.ended, bough::detail::steady_now_ns());
    const double sum = comm.size() * (comm.size() - 1) / 2.0;
    if (x.front() != sum || x.back() != sum) std::printf("wrong\n"), std::exit(1);
    bough::barrier(comm);
    return b.ended - b.came;
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 4, "bench-following [ranks [MiB [late us [rounds]]]]");
    const auto ranks = given.number<rank_t>(1, "ranks", 2, wire_up_board::most_ranks, 4);
    const auto bytes = given.number<std::size_t>(2, "MiB", 1, 1024, 16) << 20;
    const std::chrono::microseconds late(given.number<std::int64_t>(3, "late us", 0, 10'000'000, 20'000));
    const int rounds = given.number<int>(4, "rounds", 1, 100'000, 101);
    std::array<board*, 2> boards{shared<board>(1), shared<board>(1)};
    const unsigned cores = std::thread::hardware_concurrency();
    fork_ranks(ranks, ranks <= cores, [&](rank_t r) {
        const auto make = [&](std::size_t i, std::uint32_t follow) {
            board_wire_up wire(*boards[i], r, ranks);
            return group{bough::shared_memory{wire}, {.follow_arrivals = follow}};
        };
        std::array<group, 2> groups{make(0, 0), make(1, every)};
        std::array<std::vector<double>, 2> x{std::vector<double>(bytes / 8), std::vector<double>(bytes / 8)}, us;
        std::vector<double> ratio;
        for (int i = -first_rounds; i != rounds; ++i) {
            std::array<double, 2> now{};
            for (std::size_t k = 0; k != 2; ++k) { // either goes first
                const std::size_t which = (k + static_cast<std::size_t>(i + first_rounds)) % 2;
                now[which] = static_cast<double>(time(groups[which], *boards[which], x[which], late)) / 1000;
            }
            if (i < 0) continue;
            for (std::size_t k = 0; k != 2; ++k) us[k].push_back(now[k]);
            ratio.push_back(now[0] / now[1]);
        }
        if (r != 0) return 0;
        std::printf("%u ranks, %zu MiB, the last one %lld us late\n", ranks, bytes >> 20,
                    static_cast<long long>(late.count()));
        for (std::size_t k = 0; k != 2; ++k) {
            const bough::decision d =
                bough::decision_of<bough::goal::allreduce>(groups[k], {.bytes = bytes, .element_bytes = 8});
            std::printf("%-16s %10.1f us  %s\n", k == 0 ? "without" : "follow_arrivals", median(us[k]),
                        d.winner().what.text().c_str());
        }
        std::printf("times as long without: %.2f\n", median(ratio));
        return 0;
    });
}
