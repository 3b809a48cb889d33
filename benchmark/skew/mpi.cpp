// SPDX-License-Identifier: BSL-1.0
// An MPI in the skew benchmark, under its own launcher:  mpi ITERATIONS DOUBLES SKEW_US
// The ranks agree on times over bough's shared memory, as those of bench-skewed do: only what is measured is MPI's.
#include "../arguments.hpp"
#include "skewed.hpp"
#include "world.hpp"
#include <bough/launch/mpi.hpp>
#include <bough/transport/shared_memory.hpp>

#include <cstdint>
#include <cstdlib>
#include <mpi.h>
#include <vector>

namespace {

void add(void* in, void* inout, int* count, MPI_Datatype*) {
    double* const out = static_cast<double*>(inout);
    skewed::timed_add(static_cast<const double*>(in), out, out, static_cast<std::size_t>(*count));
}

void ways(const skewed::point& at, skewed::world_of<bough::shared_memory> world) {
    std::vector<double> in(static_cast<std::size_t>(at.count), 1.0), out(in);
    MPI_Op sum;
    MPI_Op_create(&add, 1, &sum);
    const auto start = [&] {
        MPI_Request made;
        MPI_Ireduce(in.data(), out.data(), at.count, MPI_DOUBLE, sum, 0, MPI_COMM_WORLD, &made);
        return made;
    };
    double idle_us = -1;
    const auto measure = [&](const char* name, auto&& way) { skewed::measure(world, at, name, idle_us, way); };
    measure("nothing", [&](std::int64_t end) { skewed::sleep_until(end); });
    measure("MPI_Reduce", [&](std::int64_t end) {
        MPI_Reduce(in.data(), out.data(), at.count, MPI_DOUBLE, sum, 0, MPI_COMM_WORLD);
        skewed::sleep_until(end);
    });
    measure("MPI_Ireduce, looked at in the end", [&](std::int64_t end) {
        MPI_Request made = start();
        skewed::sleep_until(end);
        MPI_Wait(&made, MPI_STATUS_IGNORE);
    });
    measure("MPI_Ireduce, polled every 50 us", [&](std::int64_t end) {
        MPI_Request made = start();
        int over = 0;
        for (std::int64_t next = skewed::now_ns(); next < end && over == 0; next += 50'000) {
            skewed::sleep_until(next);
            MPI_Test(&made, &over, MPI_STATUS_IGNORE);
        }
        skewed::sleep_until(end);
        MPI_Wait(&made, MPI_STATUS_IGNORE);
    });
    if (world.rank() == 0)
        for (const double x : out)
            if (x != world.size()) std::fputs("wrong result\n", stderr), std::_Exit(1);
    MPI_Op_free(&sum);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    skewed::sleep_exactly();
    {
        const arguments::list given(argc, argv, 3, "mpirun ... skew-mpi iterations doubles skew_us");
        if (!given.has(3)) given.refuse(argc, "is missing");
        bough::mpi_wire_up wire{MPI_COMM_WORLD};
        bough::communicator comm{bough::shared_memory{wire}};
        ways({.ranks = static_cast<int>(comm.size()),
              .count = given.number<int>(2, "doubles", 1, 1 << 24, 1),
              .skew_us = given.number<int>(3, "skew_us", 0, 10'000'000, 0),
              .iterations = given.number<int>(1, "iterations", 1, 1'000'000, 1)},
             {comm});
    }
    MPI_Finalize();
}
