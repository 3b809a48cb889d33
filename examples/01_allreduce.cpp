// SPDX-License-Identifier: BSL-1.0
// One collective from end to end: eight ranks, each with a vector, and afterwards every rank has the sum of all.
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

int main() {
    bough::in_process world{8}; // eight ranks, each a thread
    world.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<double> x(1000, comm.rank());
        bough::allreduce(comm, std::span(x), bough::plus{}); // in place
        if (comm.rank() == 5) std::printf("rank 5 has %g, %g, ..., %g\n", x[0], x[1], x[999]);
    });
}
