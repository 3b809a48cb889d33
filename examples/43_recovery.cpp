// SPDX-License-Identifier: BSL-1.0
// Recovery: a rank dies in the middle of a computation. The survivors agree on what was finished, shrink the group, and go on
// from there.
#include <bough/allreduce.hpp>
#include <bough/group.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/shared_memory.hpp>

#include <csignal>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

using group = bough::communicator<bough::shared_memory>;

// One step: every element becomes the sum over the ranks.
bough::status compute(group& comm, std::vector<double>& x) {
    bough::status why;
    bough::allreduce(comm, std::span(x), bough::plus{}, why);
    return why;
}

int rank_of_job(bough::job job) {
    const bough::rank_t me = job.rank();
    group comm{bough::shared_memory{job}};
    std::vector<double> x(1000, 1.0); // what the finished steps have made
    for (int step = 0; step != 4;) {
        if (me == 2 && step == 2) std::raise(SIGKILL);
        std::vector<double> next = x;
        const bough::status why = compute(comm, next);
        // An error on this rank may be a success on another one. The survivors agree: did all of them finish this step?
        if (bough::agree(comm, why ? 0 : 1) == 1) {
            x = std::move(next);
            ++step;
            continue;
        }
        comm = bough::shrink(comm); // the survivors, with new ranks: 0, 1, ... without a gap
        if (me == 3) std::printf("step %d again, with %u ranks\n", step, comm.size());
    }
    if (me == 3) std::printf("former rank 3, now rank %u, has %g = 4 * 4 * 3 * 3\n", comm.rank(), x[999]);
    return x[999] == 144 ? 0 : 1;
}

int main() {
    const bough::launch_report report = bough::launch(4, rank_of_job);
    std::printf("%s\n", describe(report).c_str());
    return report.ranks[0].ok() && report.ranks[1].ok() && report.ranks[3].ok() ? 0 : 1;
}
