// SPDX-License-Identifier: BSL-1.0
// A job that knows its cables: a communicator is told what joins its ranks, and calls without an algorithm
// take what is fastest there.
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/decision.hpp>
#include <bough/group.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/know_network.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

int main() {
    // 4 x 4 hosts in a torus, cables of 50 bytes per ns, four ports a host; a message takes 1 us besides.
    bough::network torus = bough::network::torus({4, 4}, 50, 200);
    torus.hop_ns = 50;
    const auto joined = bough::know_network(torus, bough::model::lrc{.message_latency_ns = 1000});

    bough::in_process{16}.run([&](auto transport) {
        bough::communicator comm{std::move(transport), {.network = joined}};
        std::vector<std::int64_t> x(1 << 17, comm.rank());
        bough::allreduce(comm, std::span(x), bough::plus{});

        const auto taken = [](auto& on, std::uint64_t bytes) {
            const auto d = bough::decision_of<bough::goal::allreduce>(on, {.bytes = bytes, .element_bytes = 8});
            return bough::label_of(d.winner().what.algorithm);
        };
        const auto print = [&](const char* what, auto& on) {
            std::printf("%s: 64 B by %s, 1 MiB by %s\n", what, taken(on, 64).c_str(), taken(on, 1 << 20).c_str());
        };
        if (comm.rank() == 0) {
            std::printf("sum: %d\n", static_cast<int>(x[0]));
            print("all 16 ranks", comm);
        }
        // The ranks of one column know what joins them, too.
        auto column = bough::split(comm, comm.rank() % 4, comm.rank());
        if (comm.rank() == 0) print("a column of 4", column);
    });
}
