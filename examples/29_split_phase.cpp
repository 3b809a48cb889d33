// SPDX-License-Identifier: BSL-1.0
// Split phase: start sums, compute something else, and look later. Started in one order, waited for in another; one is bound
// once and started many times.
#include <bough/allreduce.hpp>
#include <bough/progress/thread.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <iostream>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

int main() {
    std::array<double, 4> said{};
    bough::in_process{5}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<double> x(1000, comm.rank()), y(3, 1);

        bough::operation first = bough::start_allreduce(comm, x, bough::plus{});
        bough::operation second = bough::start_reduce(comm, y, bough::plus{}, bough::root{2});
        double work = 0;
        for (int i = 0; i != 100; ++i) {
            work += i;
            comm.progress(); // both go on
        }
        second.wait();
        first.wait();

        double sum = 0;
        bough::persistent_operation total = bough::bind_allreduce(comm, std::span(&sum, 1), bough::plus{});
        for (int i = 1; i != 4; ++i) {
            sum = i;
            total.start();
            work += i;
            total.wait();
        }
        if (comm.rank() == 2) said = {x[999], y[0], sum, work};
    });
    std::cout << said[0] << ' ' << said[1] << ' ' << said[2] << ' ' << said[3] << '\n';

    // A helper thread carries the operations on while their ranks only compute.
    std::array<bool, 5> done{};
    bough::in_process{5}.run([&](auto transport) {
        bough::communicator comm{bough::serialised{std::move(transport)}};
        bough::progress_thread helper;
        helper.look_after(comm);
        std::vector<long> x(1000, 1);
        bough::operation op = bough::start_allreduce(comm, x, bough::plus{});
        std::vector<long> mine(100'000);
        std::iota(mine.begin(), mine.end(), 0L);
        op.wait();
        done[comm.rank()] = x[0] == 5 && mine.back() == 99'999;
    });
    std::cout << std::accumulate(done.begin(), done.end(), 0) << " ranks have the sum\n";
}
