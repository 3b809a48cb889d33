// SPDX-License-Identifier: BSL-1.0
// A few bytes in the time of one write: ranks write their values, and the flag that says so, into a cache line of each other's,
// and nothing else happens. Beside it a communicator does all the rest.
#include <bough/allreduce.hpp>
#include <bough/direct/low_latency.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

// An iteration that asks after each step how far all are from its end.
int main() {
    constexpr bough::rank_t ranks = 4;
    bough::in_process messages{ranks};
    bough::in_process_regions lines{ranks, {.region_bytes = bough::low_latency_bytes(ranks)}};
    std::vector<std::thread> threads;
    for (bough::rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            bough::low_latency quick{lines.connect(r)};
            bough::communicator comm{messages.connect(r)};

            std::vector<double> x(10'000, 1.0 + r); // each rank seeks a root of its own
            double farthest = 1;
            int steps = 0;
            for (; farthest > 1e-12; ++steps) {
                farthest = 0;
                for (double& e : x) {
                    const double next = (e + (r + 2.0) / e) / 2;
                    farthest = std::max(farthest, std::abs(next - e));
                    e = next;
                }
                bough::allreduce(quick, std::span(&farthest, 1), bough::max{}); // a line to each
            }
            bough::allreduce(comm, x, bough::plus{}); // long: messages
            if (r == 0) std::printf("after %d steps the roots add up to %.6f\n", steps, x[0]);
        });
    for (std::thread& t : threads) t.join();
}
