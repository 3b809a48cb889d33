// SPDX-License-Identifier: BSL-1.0
// Ranks that write into each other's memory: every collective runs over that, too, and long messages land where they are
// wanted. Then over a network that scatters the bytes of what it carries: the results are the same.
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/tree/degree_k.hpp>

#include <array>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

int main() {
    constexpr bough::rank_t ranks = 5;
    constexpr std::size_t count = 50'000;
    // What the messages take of every rank's region; the rest is for data.
    const std::uint64_t bytes = bough::one_sided_bytes(ranks) + count * sizeof(double);

    bough::in_process_regions world{ranks, {.region_bytes = bytes}};
    std::vector<std::thread> threads;
    for (bough::rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&world, r] {
            bough::communicator comm{bough::one_sided{world.connect(r)}};
            const std::span<std::byte> lent = comm.transport().allocate(count * sizeof(double));
            const std::span<double> x(reinterpret_cast<double*>(lent.data()), count);
            for (double& e : x) e = r;
            bough::broadcast(comm, x, bough::root{3}); // is put into x itself
            double sum = x[count - 1] + r;
            bough::allreduce(comm, std::span(&sum, 1), bough::plus{}, bough::degree_k{.k = 3});
            if (r == 4) std::printf("rank 4 has x = %g and the sum %g\n", x[0], sum);
        });
    for (std::thread& t : threads) t.join();

    // One thread drives five ranks in virtual time; bytes land in any order, and a digest tells when all are there.
    bough::scattered_regions network{ranks, {.seed = 7, .region_bytes = bough::one_sided_bytes(ranks)}};
    using link = bough::one_sided<bough::scattered_regions::endpoint>;
    std::vector<bough::communicator<link>> comms;
    for (bough::rank_t r = 0; r != ranks; ++r) comms.emplace_back(link{network.connect(r)});
    std::array<std::vector<long>, ranks> data;
    std::vector<bough::operation> open;
    for (bough::rank_t r = 0; r != ranks; ++r) {
        data[r].assign(100, 1L << r);
        open.push_back(bough::start_allreduce(comms[r], data[r], bough::plus{}));
    }
    for (bool all = false; !all;) {
        all = true;
        for (bough::operation& op : open) all &= op.poll();
    }
    std::printf("scattered bytes, and rank 2 has %ld\n", data[2][99]);
}
