// SPDX-License-Identifier: BSL-1.0
// Why this algorithm? A choice is a value that keeps the prices, the runners-up and what excluded the others; properties of
// the result may be required; a transport says which way messages go; and the front door chooses in the same way.
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/transport/in_process.hpp>

#include <iostream>
#include <span>
#include <utility>
#include <vector>

// A network: 5 us a message, 1 ns a byte, 0.25 ns for each byte that is combined.
constexpr bough::model::alpha_beta_gamma network{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};

int main() {
    using bough::goal::allreduce;
    const auto among = bough::candidates<allreduce>(bough::recursive_doubling{}, bough::halving_doubling_allreduce{},
                                                    bough::circulant{}, bough::ring{});
    // Any op; then one that does not commute; then the bits that recursive doubling gives, which short vectors get.
    const bough::dimensions at{.size = 13};
    std::cout << bough::choose(among, at, {.bytes = 65536}, network) << '\n';
    std::cout << bough::choose(among, at, {.bytes = 65536}, network, {.needed = required(bough::order_preserving)})
              << '\n';
    std::cout << bough::choose(among, at, {.bytes = 1 << 20}, network,
                               {.needed = same_bits_as(bough::recursive_doubling{}, at)});

    bough::in_process{4}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        comm.set_costs(network); // the same on all ranks: so they choose alike, without a message
        if (comm.rank() == 3)    // and which way do the messages go that this rank gets?
            std::cout << '\n' << bough::choose(among, {.size = 4}, {.bytes = 80000}, network, {.through = comm});
        std::vector<double> x(1000, 0.25 + comm.rank());
        bough::allreduce(comm, std::span(x), bough::plus{},
                         bough::automatic{.required = bough::rank_consistent | bough::order_preserving});
        if (comm.rank() == 3) std::cout << "\nrank 3 has " << x[0] << '\n';
    });
}
