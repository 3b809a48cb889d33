// SPDX-License-Identifier: BSL-1.0
// Two nodes of three ranks, on one machine by their names: shared memory inside a node, tcp between, plans for both.
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/launch.hpp>
#include <bough/transport/composite_tcp.hpp>

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

int rank_of_job(bough::job job) {
    // A job on real nodes leaves `node` out; ranks that can share memory find each other.
    bough::communicator comm{bough::make_composite(job, {.node = job.rank() < 3 ? "left" : "right"})};
    const bough::listed_groups nodes = comm.transport().groups();

    // Sums inside each node, then across, each rank for its third of the vector.
    std::vector<double> x(9000, comm.rank());
    bough::allreduce(comm, std::span(x), bough::plus{}, bough::compose(bough::ring{}, bough::circulant{}, nodes));

    // Or what the library chooses: it knows which ranks share a node, and what both kinds of messages cost.
    std::vector<double> y(9000, comm.rank());
    bough::allreduce(comm, std::span(y), bough::plus{});

    if (comm.rank() == 4) {
        const auto node = nodes.group_of(comm.size(), comm.rank());
        std::printf("rank 4 is on node %u of %u, with %u ranks\n", node, nodes.groups(comm.size()),
                    comm.transport().inside().size());
        std::printf("it reaches rank 3 by %s, rank 2 by %s\n", comm.transport().is_inside(3) ? "memory" : "tcp",
                    comm.transport().is_inside(2) ? "memory" : "tcp");
        std::printf("both ways: %g, %g\n", x[8999], y[8999]);
    }
    return std::count(x.begin(), x.end(), 15.0) == 9000 && x == y ? 0 : 1;
}

int main() {
    const bough::launch_report report = bough::launch(6, rank_of_job);
    std::printf("all ranks have the sum: %s\n", report.ok() ? "yes" : "no");
    return report.ok() ? 0 : 1;
}
