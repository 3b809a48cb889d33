// SPDX-License-Identifier: BSL-1.0
// An MPI program that calls bough: its ranks are those of MPI_COMM_WORLD, and messages travel by MPI's own calls.
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/mpi.hpp>

#include <cstdio>
#include <exception>
#include <mpi.h>
#include <span>
#include <vector>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    try {
        bough::communicator comm{bough::mpi{MPI_COMM_WORLD}}; // gone before MPI_Finalize
        std::vector<double> x(1000, comm.rank() + 1.0);
        bough::allreduce(comm, std::span(x), bough::plus{});
        if (comm.rank() == 0) std::printf("%u ranks: %g\n", comm.size(), x[999]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
