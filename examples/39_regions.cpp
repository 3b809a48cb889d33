// SPDX-License-Identifier: BSL-1.0
// The same program over memory that processes of a node share, and over a network card's remote writes (libfabric; here its
// provider for TCP): only how the regions are made differs.
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/launch.hpp>
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/fabric/regions.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/tree/degree_k.hpp>

#include <cstdio>
#include <span>

constexpr std::size_t elements = 10'000; // doubles

// A gradient step: weights from rank 0 land in every rank's region, gradients are added up there.
template <class Regions>
int train(Regions regions, const char* over) {
    bough::communicator comm{bough::one_sided{std::move(regions)}};
    const std::span<std::byte> lent = comm.transport().allocate(elements * sizeof(double));
    if (lent.empty()) return 1;
    const std::span<double> weights(reinterpret_cast<double*>(lent.data()), elements);
    for (std::size_t i = 0; i != elements; ++i) weights[i] = comm.rank() == 0 ? static_cast<double>(i) : -1;
    bough::broadcast(comm, weights, bough::root{0});

    double loss = 0;
    for (double& w : weights) w *= comm.rank() + 1, loss += w;
    bough::allreduce(comm, weights, bough::plus{});
    bough::allreduce(comm, std::span(&loss, 1), bough::plus{}, bough::degree_k{.k = 3}); // one cache line a message
    if (comm.rank() == 3) std::printf("over %s: weight 7 is %g, the loss %g\n", over, weights[7], loss);
    comm.transport().deallocate(lent);
    return 0;
}

int main() {
    const auto bytes_for = [](const bough::job& job) {
        return bough::one_sided_bytes(job.size()) + elements * sizeof(double) + 64;
    };
    const auto on_node = bough::launch(4, [&](bough::job job) {
        return train(bough::shared_memory_regions{job, {.region_bytes = bytes_for(job)}}, "shared memory");
    });
    const auto by_card = bough::launch(4, [&](bough::job job) {
        bough::fabric_options card{.provider = "tcp;ofi_rxm"};
        return train(bough::fabric_regions{job, {.region_bytes = bytes_for(job), .device = card}}, "libfabric");
    });
    for (const auto& report : {on_node, by_card})
        if (!report.ok()) std::printf("%s\n", describe(report).c_str());
}
