// SPDX-License-Identifier: BSL-1.0
// Memory of one's own that peers write into. A vector that is exposed for as long as it lives is broadcast into without a copy;
// one that is not is exposed at the call. Below that, remote writes by hand: who is told a place and its key may put there, until
// it is concealed.
#include <bough/broadcast.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/transport/one_sided.hpp>

#include <array>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

int main() {
    constexpr bough::rank_t ranks = 4;
    constexpr std::size_t count = 50'000;
    bough::in_process_regions world{ranks, {.region_bytes = bough::one_sided_bytes(ranks)}};
    std::vector<std::thread> threads;
    for (bough::rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&world, r] {
            bough::communicator comm{bough::one_sided{world.connect(r)}};
            std::vector<double> weights(count, r), step(count, 10.0 * r);
            const std::span<std::byte> lasting = std::as_writable_bytes(std::span(weights));
            const bool exposed = comm.transport().expose(lasting);
            for (bough::rank_t from = 0; from != ranks; ++from) {
                if (r == from) weights[7] += 1;
                bough::broadcast(comm, std::span(weights), bough::root{from}); // is put into weights itself
            }
            bough::broadcast(comm, std::span(step), bough::root{2}); // exposed for this call
            comm.transport().conceal(lasting);
            if (r == 1)
                std::printf("rank 1: %s, has %g and %g\n", exposed ? "exposed" : "not exposed", weights[7], step[7]);
        });
    for (std::thread& t : threads) t.join();

    // By hand, over a network in virtual time.
    bough::simulated_regions network{2, {.seed = 3, .region_bytes = 4096}};
    auto writer = network.connect(0), owner = network.connect(1);
    std::array<long, 4> table{};
    const bough::exposure at = owner.expose(std::as_writable_bytes(std::span(table)));
    const std::array<long, 2> row{41, 42};
    const auto second_row = bough::exposure{at.place + sizeof row, at.key};
    bough::posted sent = writer.put_exposed(1, second_row, std::as_bytes(std::span(row)), 1);
    std::array<bough::event, 4> events;
    while (owner.landed(0) == 0 || (sent == bough::posted::pending && writer.poll(events) == 0)) owner.poll(events);
    owner.conceal(at);
    sent = writer.put_exposed(1, second_row, std::as_bytes(std::span(row)), 2);
    std::printf("table: %ld %ld %ld %ld; another put %s\n", table[0], table[1], table[2], table[3],
                sent == bough::posted::failed ? "fails" : "is taken");
}
