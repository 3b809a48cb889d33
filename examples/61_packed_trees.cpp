// SPDX-License-Identifier: BSL-1.0
// A plan for one network: a search finds the trees that use all of its cables, and proves how near the
// best that is.
#include <bough/allreduce.hpp>
#include <bough/model/lrc.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/select/pack_trees.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/outline.hpp>
#include <bough/verify/verify.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

int main() {
    // Five hosts, all joined with 10 bytes per ns, but one cable is missing: that between 0 and 1.
    bough::network machine(5, 5); // each host has a switch, so that messages pass through it
    for (std::uint32_t a = 0; a != 5; ++a) {
        machine.join(a, 5 + a, a < 2 ? 30 : 40);
        for (std::uint32_t b = a + 1; b != 5; ++b)
            if (a != 0 || b != 1) machine.join(5 + a, 5 + b, 10);
    }
    machine.route();

    const auto down = bough::pack_trees<bough::goal::broadcast>(machine, {.size = 5});
    for (const bough::table& tree : down.algorithm.trees) std::printf("%s\n", bough::outline(tree).str().c_str());
    std::printf("1 MB takes %.1f us, and no plan less than %.1f us\n", down.ns_per_byte * 1e3,
                down.least_ns_per_byte * 1e3);

    // It is a plan like any other: proved, priced, run.
    const auto found = bough::pack_trees<bough::goal::allreduce>(machine, {.size = 5});
    const auto plan = bough::plan_allreduce(found.algorithm, {.size = 5, .blocks = 32 * found.trees()});
    std::printf("allreduce over %u trees up and down, %.0f %% of the bound: %s\n", found.trees(), 100 * found.share(),
                bough::to_string(bough::verify(plan)).c_str());
    const bough::model::lrc latency{.message_latency_ns = 1000};
    const auto run = bough::simulate(plan, latency, {.bytes = 64'000'000, .network = &machine});
    std::printf("64 MB take %.1f ms, messages and all\n", run.makespan_ns / 1e6);

    bough::in_process{5}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        std::vector<std::int64_t> data(100'000, comm.rank());
        bough::allreduce(comm, std::span(data), bough::plus{}, plan);
        if (comm.rank() == 4) std::printf("rank 4 has %d\n", static_cast<int>(data[99'999]));
    });
}
