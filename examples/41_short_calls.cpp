// SPDX-License-Identifier: BSL-1.0
// A few numbers, often, from all ranks at once: the same front door as for long vectors. A call of few bytes that is made
// again goes straight to its plan, and each message is one line of memory with data, flag and signature.
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

// An iteration that asks after each step how far all are from its end.
int main() {
    constexpr bough::rank_t ranks = 4;
    bough::in_process world{ranks};
    world.run([](auto transport) {
        bough::communicator comm{std::move(transport)};

        std::vector<double> x(10'000, 1.0 + comm.rank()); // each rank seeks a root of its own
        double farthest = 1;
        int steps = 0;
        for (; farthest > 1e-12; ++steps) {
            farthest = 0;
            for (double& e : x) {
                const double next = (e + (comm.rank() + 2.0) / e) / 2;
                farthest = std::max(farthest, std::abs(next - e));
                e = next;
            }
            farthest = bough::allreduce(comm, farthest, bough::max{}); // 8 bytes
        }
        bough::allreduce(comm, x, bough::plus{}); // 80,000 bytes
        if (comm.rank() == 0) std::printf("after %d steps the roots add up to %.6f\n", steps, x[0]);
    });
}
