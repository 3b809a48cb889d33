// SPDX-License-Identifier: BSL-1.0
// Gradients of 16 bits: a sum that is rounded at every combine, one that is rounded once, and an average.
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

int main() {
    bough::in_process{8}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const bool speaks = comm.rank() == 0;

        // One large gradient among small ones.
        const std::vector<bough::bf16> mine(1000, bough::bf16{speaks ? 256.0f : 0.9f});
        std::vector<bough::bf16> sum = mine, once = mine, average = mine;
        bough::allreduce(comm, std::span(sum), bough::plus{});
        bough::allreduce(comm, std::span(once), bough::rounded_once{});
        const float share = 1.0f / static_cast<float>(comm.size());
        bough::allreduce(comm, std::span(average), bough::rounded_once<>{.after = share});
        if (speaks) {
            std::printf("exactly       262.289\n"); // 256 + 7 * the bf16 next to 0.9
            std::printf("each combine  %g\n", float(sum[0]));
            std::printf("once          %g\n", float(once[0]));
            std::printf("average       %g\n", float(average[0]));
        }

        // 8 bits: e4m3 has no infinity, it saturates.
        const auto most = bough::allreduce(comm, bough::fp8_e4m3{100.0f}, bough::plus{});
        const auto beyond = bough::allreduce(comm, bough::fp8_e5m2{10000.0f}, bough::plus{});
        if (speaks) std::printf("e4m3 %g, e5m2 %g\n", float(most), float(beyond));
    });
}
