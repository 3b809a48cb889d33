// SPDX-License-Identifier: BSL-1.0
// Which algorithm? None named, one named, a tree, a whole plan; or the plan that a model of the network finds cheapest.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/select/choose.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

constexpr bough::dimensions at{.size = 8};
constexpr auto doubling = bough::plan_allreduce(bough::recursive_doubling{}, at);
constexpr auto tree = bough::plan_allreduce(bough::fnomial{.degree = 4}, at);
constexpr auto pipeline = bough::plan_allreduce(bough::chain{}, {.size = 8, .blocks = 64}); // 64 blocks, one by one

// A network: 2 us latency, 0.4 us and 1 ns/byte to receive, 0.1 us and 0.5 ns/byte to combine.
constexpr bough::model::lrc network{
    .message_latency_ns = 2000, .receive = {400, 1.0}, .combine = {100, 0.5}, .startup_ns = 0, .copy = {}};

int main() {
    for (const std::uint64_t bytes : {8u, 4096u, 1048576u}) {
        const auto choice = bough::choose(network, {.bytes = bytes}, doubling, tree, pipeline);
        const char* const names[] = {"recursive doubling", "4-nomial tree", "pipelined chain"};
        std::printf("%7lu bytes: %s\n", static_cast<unsigned long>(bytes), names[choice.winner]);
        for (std::size_t i = 0; i != 3; ++i)
            std::printf("    %-18s %10.1f us\n", names[i], choice.predicted_ns[i] / 1000);
    }

    bough::in_process{8}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<long> x(1000, 1);
        bough::allreduce(comm, std::span(x), bough::plus{});                              // by comm's own costs
        bough::allreduce(comm, std::span(x), bough::plus{}, bough::recursive_doubling{}); // this algorithm
        bough::allreduce(comm, std::span(x), bough::plus{}, bough::fnomial{.degree = 4}); // over this tree
        bough::allreduce(comm, std::span(x), bough::plus{}, pipeline);                    // exactly this plan
        if (comm.rank() == 0) std::printf("8 * 8 * 8 * 8 = %ld\n", x[0]);
    });
}
