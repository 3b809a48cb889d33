// SPDX-License-Identifier: BSL-1.0
// A rank of whatever job started it: `bough launch`, mpirun or srun with PMIx, or nobody. Shared memory inside a machine,
// tcp between machines.
//
//   45_this_job [ADDRESS]     the address of this machine; without it, all ranks must be on one machine
#include <bough/allreduce.hpp>
#include <bough/launch.hpp>
#include <bough/launch/pmix.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/composite_tcp.hpp>

#include <cstdio>
#include <exception>
#include <span>
#include <vector>

int main(int argc, char** argv) {
    try {
        bough::job job = bough::this_job();
        bough::composite_options options;
        if (argc > 1) options.between.bind = argv[1];
        bough::communicator comm{bough::make_composite(job, options)};

        std::vector<double> x(1000, comm.rank() + 1.0);
        bough::allreduce(comm, std::span(x), bough::plus{});
        if (comm.rank() == 0)
            std::printf("%u ranks on %u machines: %g\n", comm.size(), comm.transport().groups().groups(comm.size()),
                        x[999]);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
