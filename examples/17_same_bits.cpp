// SPDX-License-Identifier: BSL-1.0
// Sums whose bits depend on the numbers alone: not on how many ranks there are, nor on the plan, nor on the order.
#include <bough/allreduce.hpp>
#include <bough/op/binned_sum.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

// Small numbers between a large one and its opposite.
std::vector<double> numbers() {
    std::vector<double> x{1e9};
    for (int i = 1; i <= 100; ++i) x.push_back((i % 3 == 0 ? -1.0 : 1.0) / i);
    x.push_back(-1e9);
    return x;
}

int main() {
    const std::vector<double> x = numbers();
    std::printf("ranks  plus                 exact_sum            binned_sum\n");
    for (const bough::rank_t ranks : {1u, 2u, 3u, 7u}) {
        bough::in_process{ranks}.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            const std::size_t first = x.size() * comm.rank() / ranks, last = x.size() * (comm.rank() + 1) / ranks;
            const std::span<const double> mine(x.data() + first, last - first);

            double sum = -0.0;
            for (const double v : mine) sum = bough::plus{}(sum, v);
            bough::allreduce(comm, std::span(&sum, 1), bough::plus{});

            // All numbers of a rank go into one state, the states travel, and the result is rounded once.
            auto exact = bough::exact_sum{}.lift(mine);
            bough::allreduce(comm, std::span(&exact, 1), bough::exact_sum{});

            auto binned = bough::binned_sum<2>{}.lift(mine);
            bough::allreduce(comm, std::span(&binned, 1), bough::binned_sum<2>{});

            if (comm.rank() == 0)
                std::printf("%5u  %-19.17g  %-19.17g  %.17g\n", ranks, sum, bough::exact_sum{}.lower(exact),
                            bough::binned_sum<2>{}.lower(binned));
        });
    }
    // One sum per element: values go in, values come out.
    bough::in_process{3}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        double data[] = {0.1 * (comm.rank() + 1), comm.rank() == 1 ? 1e300 : -0.5e300};
        bough::allreduce(comm, std::span(data), bough::exact_sum{});
        if (comm.rank() == 2) std::printf("%.17g %.17g\n", data[0], data[1]);
    });
}
