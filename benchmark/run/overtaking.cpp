// SPDX-License-Identifier: BSL-1.0
// A short operation that is started while a long one is in flight: an allreduce of 8 bytes, alone and amid a broadcast,
// an allreduce and an alltoall of many MiB, over tcp and over shared memory.
//
//   bench-overtaking [rounds [p [MiB]]]
//
// Each round starts the long operation on one communicator, polls it 20 times, and then starts the short one on a
// duplicate and waits for it: with the same priority, and with a higher one. Microseconds: the median over rounds of the
// slowest rank's time. All results are checked.
#include "../arguments.hpp"
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

double us_since(clock_type::time_point begin) {
    return std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
}
double median(std::vector<double>& all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

template <class T>
struct rank_run {
    bough::communicator<T> comm;
    bough::communicator<T> quick = bough::duplicate(comm);
    const char* transport;
    int rounds;
    std::size_t elements;
    std::vector<double> x = std::vector<double>(elements, 1), y = std::vector<double>(elements, 0);

    double slowest(double us) { return bough::allreduce(comm, us, bough::max{}); }
    double short_one() {
        double one = 1;
        const auto begin = clock_type::now();
        bough::operation op = bough::start_allreduce(quick, std::span(&one, 1), bough::plus{});
        op.wait();
        if (one != comm.size()) std::abort();
        return us_since(begin);
    }
    template <class F>
    void amid(const char* what, F&& start) {
        std::vector<double> alone, together[2], whole;
        for (int i = 0; i != 2 * rounds + 2; ++i) {
            quick.set_priority(i % 2);
            bough::barrier(comm);
            const double before = slowest(short_one());
            std::fill(x.begin(), x.end(), 1.0);
            bough::barrier(comm);
            const auto begin = clock_type::now();
            bough::operation op = start();
            for (int k = 0; k != 20; ++k) comm.progress();
            double among = short_one();
            op.wait();
            const double all = slowest(us_since(begin));
            among = slowest(among);
            if (i < 2) continue; // it warms up
            alone.push_back(before), together[i % 2].push_back(among), whole.push_back(all);
        }
        if (comm.rank() == 0)
            std::printf("%-14s %-10s %8.0f %10.0f %10.0f %14.0f\n", transport, what, median(alone), median(together[0]),
                        median(together[1]), median(whole));
        std::fflush(stdout);
    }
    void run() {
        const double p = comm.size();
        amid("broadcast", [&] { return bough::start_broadcast(comm, std::span(x), bough::root{0}); });
        amid("allreduce", [&] { return bough::start_allreduce(comm, std::span(x), bough::plus{}); });
        if (x.front() != p || x.back() != p) std::abort();
        amid("alltoall", [&] { return bough::start_alltoall(comm, std::span<const double>(x), std::span(y)); });
        if (y.front() != 1 || y.back() != 1) std::abort();
    }
};

template <class T>
int rank_of(bough::job job, const char* name, int rounds, std::size_t elements) {
    rank_run<T>{.comm = bough::communicator{T{job}}, .transport = name, .rounds = rounds, .elements = elements}.run();
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 3, "bench-overtaking [rounds [p [MiB]]]");
    const int rounds = given.number(1, "rounds", 1, 100'000, 11);
    const auto p = given.number<bough::rank_t>(2, "p", 2, 64, 4);
    const auto mib = given.number<std::size_t>(3, "MiB", 1, 1024, 64);
    const std::size_t elements = mib * (1 << 20) / sizeof(double) / p * p;
    std::printf("us, %u ranks, %zu MiB\n%-14s %-10s %8s %10s %10s %14s\n", p, mib, "over", "amid", "alone", "together",
                "priority 1", "the long one");
    std::fflush(stdout);
    const auto tcp =
        bough::launch(p, [&](bough::job job) { return rank_of<bough::tcp>(std::move(job), "tcp", rounds, elements); });
    const auto shared = bough::launch(p, [&](bough::job job) {
        return rank_of<bough::shared_memory>(std::move(job), "shared_memory", rounds, elements);
    });
    return tcp.ok() && shared.ok() ? 0 : 1;
}
