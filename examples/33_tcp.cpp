// SPDX-License-Identifier: BSL-1.0
// Processes over tcp; and two of them that take themselves for the root of a reduction: both only wait, and are told why.
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/launch.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/tcp.hpp>

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

// Connections prove that they belong to the job before they take a rank's place; the launcher has its key.
int rank_of_job(bough::job job) {
    bough::communicator comm{bough::tcp{job}};
    std::vector<double> x(10'000, comm.rank() + 1.0);
    bough::allreduce(comm, std::span(x), bough::plus{}); // how, is chosen by what messages cost over tcp
    if (comm.rank() == 3) std::printf("every rank has %g\n", x.back());
    if (std::count(x.begin(), x.end(), 10.0) != 10'000) return 1;

    // No message of the two calls would ever meet. Who has waited for a quarter of a second asks those it waits for.
    // A slow rank can hear of it while it is still in the barrier: every operation of a failed communicator ends.
    bough::status why;
    bough::barrier(comm, why);
    if (!why) bough::reduce(comm, std::span(x), bough::plus{}, bough::root{comm.rank() == 1 ? 1u : 0u}, why);
    if (!why) bough::barrier(comm, why); // this rank had rightly returned: its next call tells it
    const bool both =
        why.mismatch == bough::mismatch::root && std::max(why.mine, why.theirs) == 1 && why.mine != why.theirs;
    if (comm.rank() == 3) std::printf("rank 3 hears that two roots differ: %s\n", both ? "0 and 1" : "no");
    return both ? 0 : 1;
}

int main() {
    const bough::launch_report report = bough::launch(4, rank_of_job);
    std::printf("so do all: %s\n", report.ok() ? "yes" : "no");
    return report.ok() ? 0 : 1;
}
