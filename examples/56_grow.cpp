// SPDX-License-Identifier: BSL-1.0
// A service that keeps its size: a rank dies, a process that stood by takes its place, all go on.
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/grow.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/tcp.hpp>

#include <csignal>
#include <cstdio>
#include <span>
#include <sys/wait.h>
#include <unistd.h>

using service = bough::communicator<bough::tcp>;

struct progress {
    long steps = 0, sum = 0;
};

// Six steps; in each the ranks add up their numbers, counted from 1.
progress serve(service& comm, const bough::meeting_place& place, progress done) {
    while (done.steps != 6) {
        if (comm.epoch() == 1 && comm.rank() == 1 && done.steps == 3) std::raise(SIGKILL);
        long more = 1 + comm.rank();
        bough::status why;
        bough::allreduce(comm, std::span(&more, 1), bough::plus{}, why);
        if (bough::agree(comm, why ? 0 : 1) == 1) { // this step is done on all ranks
            done = {done.steps + 1, done.sum + more};
            continue;
        }
        comm = bough::shrink(comm);         // without the rank that died
        comm = bough::grow(comm, place, 3); // until there are three ranks again
        bough::broadcast(comm, std::span(&done, 1), bough::root{0});
    }
    return done;
}
int stand_by(const bough::meeting_place& place) {
    service comm = bough::join_group<bough::tcp>(place);
    progress done; // the others know
    bough::broadcast(comm, std::span(&done, 1), bough::root{0});
    std::printf("step %ld: joined, as rank %u of %u in epoch %u\n", done.steps, comm.rank(), comm.size(), comm.epoch());
    std::fflush(stdout);
    return serve(comm, place, done).sum == 6 * (1 + 2 + 3) ? 0 : 1;
}

int main() {
    bough::meeting_place place; // of a cluster: addresses on several machines, and a key from a file
    place.hosts = {{"127.0.0.1", static_cast<std::uint16_t>(20'000 + ::getpid() % 10'000)}};
    if (!bough::openssl_mac::random(place.key.bytes())) return 1;

    const pid_t other = ::fork(); // any program, started at any time, on any machine
    if (other == 0) ::_exit(stand_by(place));
    const bough::launch_report report = bough::launch(3, [&](bough::job job) {
        service comm{bough::tcp{job}};
        return serve(comm, place, {}).sum == 6 * (1 + 2 + 3) ? 0 : 1;
    });
    int joined = -1;
    ::waitpid(other, &joined, 0);
    std::printf("%s\n", describe(report).c_str());
    return report.ranks[0].ok() && report.ranks[2].ok() && joined == 0 ? 0 : 1;
}
