// SPDX-License-Identifier: BSL-1.0
// Shared work: every rank has a whole gradient, owns a share of the weights, updates that, and gets the shares of all.
// reduce_scatter gives each rank its share of the sum; allgather puts the shares together again.
#include <bough/allgather.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

int main() {
    bough::in_process{4}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const std::vector<double> gradient{1, 2, 3, 4, 5, 6, 7, 8}; // the same on all ranks, so that you can check it
        std::vector<double> share(2), weights(8, 100);

        bough::reduce_scatter(comm, std::span(gradient), std::span(share), bough::plus{});
        for (double& x : share) x = 100 - x / comm.size();
        bough::allgather(comm, std::span(share), std::span(weights));
        if (comm.rank() == 3) std::printf("weights at rank 3: %g %g ... %g\n", weights[0], weights[1], weights[7]);

        // In place: a rank's share lies where it belongs in the whole vector, before the allgather and after the
        // reduce_scatter. Shares need not be equal; everybody knows them all.
        const std::vector<std::size_t> counts{5, 0, 2, 1};
        std::vector<double> all = gradient;
        bough::reduce_scatterv(comm, std::span(all), counts, bough::plus{});
        if (comm.rank() == 2) std::printf("the sums that rank 2 owns: %g %g\n", all[5], all[6]);
        bough::allgatherv(comm, std::span(all), counts);
        if (comm.rank() == 1) std::printf("all sums at rank 1: %g %g ... %g\n", all[0], all[1], all[7]);
    });
}
