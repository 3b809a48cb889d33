// SPDX-License-Identifier: BSL-1.0
// The average of gradients of float that travel as 8 bits and a scale for each 256 values; and what that costs.
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/quantised_sum.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

int main() {
    bough::in_process{4}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<float> gradient(100'000), exact;
        for (std::size_t i = 0; i != gradient.size(); ++i)
            gradient[i] = static_cast<float>((i * 7 + comm.rank()) % 101) - 50;
        exact = gradient;
        bough::allreduce(comm, std::span(exact), bough::plus{});

        const bough::quantised_sum<> average{.after = 1.0f / static_cast<float>(comm.size())};
        bough::allreduce(comm, std::span(gradient), average);

        float worst = 0;
        for (std::size_t i = 0; i != gradient.size(); ++i)
            worst = std::max(worst, std::fabs(gradient[i] - exact[i] / static_cast<float>(comm.size())));
        if (comm.rank() != 0) return;
        const double bytes = static_cast<double>(average.blocks_of(gradient.size()) * average.block_bytes);
        std::printf("a vector travels as %.0f %% of its bytes\n",
                    100 * bytes / (4.0 * static_cast<double>(gradient.size())));
        // Magnitudes are at most 50, so the bound is (50 + 50) / 253.
        std::printf("off by at most %s\n", worst <= 100.0f / 253 ? "the bound" : "more than the bound");
    });
}
