// SPDX-License-Identifier: BSL-1.0
// Ranks that are processes: launched, wired up, summed over shared memory; and what is heard of one that dies.
#include <bough/allreduce.hpp>
#include <bough/launch.hpp>
#include <bough/transport/shared_memory.hpp>

#include <csignal>
#include <cstdio>
#include <span>
#include <vector>

// Every rank has a vector; afterwards all have the sum.
int sum(bough::job job) {
    bough::communicator comm{bough::shared_memory{job}};
    std::vector<double> x(1000, comm.rank());
    bough::allreduce(comm, std::span(x), bough::plus{});
    if (comm.rank() == 3) std::printf("rank 3 of %u has %g\n", comm.size(), x[999]);
    return 0;
}

// Rank 2 is killed between two sums. The others neither hang nor get a wrong result: they are told who is gone.
int sum_with_a_death(bough::job job) {
    bough::communicator comm{bough::shared_memory{job}};
    std::vector<double> x(1000, comm.rank());
    bough::status why;
    bough::allreduce(comm, std::span(x), bough::plus{}, why);
    if (comm.rank() == 2) std::raise(SIGKILL);
    if (!why) bough::allreduce(comm, std::span(x), bough::plus{}, why); // a slow rank may hear of it in the first one
    const bough::errc code = why.cause != bough::errc::ok ? why.cause : why.code; // another rank may have told it
    if (comm.rank() == 0) std::printf("rank 0 hears: %s\n", describe(code));
    return code == bough::errc::peer_dead ? 0 : 1;
}

int main() {
    const bough::launch_report good = bough::launch(4, sum);
    std::printf("all well: %s\n", good.ok() ? "yes" : "no");
    const bough::launch_report bad = bough::launch(4, sum_with_a_death);
    std::printf("%s\n", describe(bad).c_str());
}
