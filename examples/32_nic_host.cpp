// SPDX-License-Identifier: BSL-1.0
// The host as the NIC: a table runs in each rank while the rank does something else; and where it should run.
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/communicator.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/choose_target.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdio>
#include <span>
#include <utility>

namespace nic = bough::nic;

int main() {
    // One table per rank, of the kind that runs in a NIC; two instances may be under way.
    const auto plan = bough::plan_allreduce(bough::fnomial{.degree = 3}, {.size = 6});
    const auto made =
        nic::assemble_all(plan, nic::needs_of<bough::plus, double>, nic::capabilities_of<nic::host>, {.banks = 2});
    bough::in_process world{6};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        nic::host_nic device{comm};
        auto sum = nic::load<double>(device, made.programs[comm.rank()], bough::plus{});
        const double first = comm.rank(), second = 10 * first;
        if (sum.start(std::span(&first, 1)) || sum.start(std::span(&second, 1))) return; // the bell; no waiting
        unsigned polls = 0;
        while (!sum.poll()) ++polls; // or any other work
        if (sum.error()) return;
        if (comm.rank() == 5) std::printf("rank 5 has %g and %g\n", sum.result(0)[0], sum.result(1)[0]);
    });

    // What messages (L, r), combining (c) and entering (C) cost on each decides where a reduction should run.
    const bough::model::lrc host{
        .message_latency_ns = 500, .receive = {1500, 0}, .combine = {10, 0}, .startup_ns = 0, .copy = {}};
    const bough::model::lrc nics{
        .message_latency_ns = 200, .receive = {100, 0}, .combine = {1000, 0}, .startup_ns = 1000, .copy = {}};
    for (const bough::rank_t ranks : {2u, 64u})
        std::fputs(to_string(nic::choose_target(ranks, 8, {.host = host, .nic = nics})).c_str(), stdout);
}
