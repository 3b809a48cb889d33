// SPDX-License-Identifier: BSL-1.0
// A machine whose cables are known: which plan is the fastest on it, how near the best possible that is,
// and which cable is in the way of another one.
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/lrc.hpp>
#include <bough/select/on_network.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/simulate/network_bound.hpp>
#include <bough/simulate/network_traffic.hpp>
#include <bough/simulate/simulate.hpp>

#include <cstdint>
#include <cstdio>

int main() {
    // 4 x 4 switches in a torus, cables of 50 bytes per ns; a host has four ports, and so 200.
    bough::network torus = bough::network::torus({4, 4}, 50, 200);
    torus.hop_ns = 50;
    const bough::model::lrc latency{.message_latency_ns = 1000};
    const bough::dimensions at{.size = 16};
    const std::uint64_t bytes = 4 << 20;

    auto candidates = bough::standard_candidates<bough::goal::allreduce>(at, {.bytes = bytes});
    bough::add_network_candidates(candidates, at, {.bytes = bytes}, torus);
    const bough::decision best = bough::choose(candidates, at, {.bytes = bytes}, bough::on_network{torus, latency});
    const bough::network_bound least = bough::bound_on(torus, latency, bough::goal::allreduce::kind, at, bytes);
    std::printf("%s: %.1f us, %.0f %% of what the network can do\n",
                bough::label_of(best.winner().what.algorithm).c_str(), best.winner().predicted_ns / 1e3,
                100 * least.ns() / best.winner().predicted_ns);

    const auto look_at = [&](const char* name, const auto& plan) {
        const double ns = bough::simulate(plan, latency, {.bytes = bytes, .network = &torus}).makespan_ns;
        const bough::link_traffic load = bough::traffic(plan, torus, bytes);
        const bough::network::link& busiest = torus.links()[load.busiest];
        std::printf("%s: %.1f us; the link from vertex %u to %u carries %.1f MB, which take %.1f us\n", name, ns / 1e3,
                    busiest.from, busiest.to, static_cast<double>(load.bytes[load.busiest]) / 1e6,
                    load.busiest_ns / 1e3);
    };
    look_at("ring", bough::plan_allreduce(bough::ring{}, at));
    look_at("halving_doubling", bough::plan_allreduce(bough::halving_doubling{}, at));
}
