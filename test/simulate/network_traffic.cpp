// SPDX-License-Identifier: BSL-1.0
// What links carry: closed forms on rings and one switch, and what every plan on every network must keep
// to.
#include "support/catch.hpp"
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/algorithm/swing.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/network_traffic.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/binomial.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

// The parts of all messages, one by one.
struct listed {
    struct message {
        rank_t from, to;
        block_t first, count;
    };
    rank_t rank = 0;
    std::vector<message> all;
    std::uint64_t whole = 0;

    void send_part(rank_t to, slice from) { all.push_back({rank, to, from.first, from.count}); }
    void send(rank_t to, slice from) { send_part(to, from), ++whole; }
    void receive(rank_t, slice) {}
    void receive_part(rank_t, slice) {}
    void combine(slice, slice, slice) {}
    void copy(slice, slice) {}
};

template <Plan P>
void check(const P& plan, const network& over, std::uint64_t elements) {
    const link_traffic t = traffic(plan, over, elements * 4, 4);
    listed by_hand;
    for (rank_t r = 0; r != plan.size(); ++r) by_hand.rank = r, plan.emit(r, by_hand);
    CHECK(t.messages == by_hand.whole);
    std::vector<std::uint64_t> bytes(over.links().size(), 0);
    for (const auto& m : by_hand.all) {
        std::uint64_t length = 0;
        for (block_t b = m.first; b != m.first + m.count; ++b)
            length += 4 * (elements / plan.blocks() + (b < elements % plan.blocks() ? 1 : 0));
        std::vector<std::uint32_t> path;
        REQUIRE(over.path(over.host_of(m.from), over.host_of(m.to), path));
        for (const std::uint32_t l : path) bytes[l] += length;
    }
    CHECK(t.bytes == bytes);
    double most = 0;
    for (std::size_t l = 0; l != bytes.size(); ++l)
        most = std::max(most, static_cast<double>(bytes[l]) / over.links()[l].bytes_per_ns);
    CHECK(t.busiest_ns == most);
    if (most > 0)
        CHECK(static_cast<double>(bytes[t.busiest]) / over.links()[t.busiest].bytes_per_ns == most);
    else
        CHECK(t.busiest == network::nowhere);
    // No run takes less.
    constexpr model::lrc costs{.message_latency_ns = 0, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}};
    CHECK(simulate(plan, costs, {.bytes = elements * 4, .element_bytes = 4, .network = &over}).makespan_ns >=
          most * (1 - 1e-9));
}

} // namespace

TEST_CASE("traffic over a network: the messages of a plan, put on their paths one by one") {
    network placed = network::mesh({3, 4}, 2.0, 3.0);
    for (std::uint32_t h = 0; h != 12; ++h) placed.placement.push_back((5 * h + 3) % 12);
    network shared = network::crossbar(5, 1.0); // two or three ranks on a host
    for (const network& over : {network::torus({3, 4}, 1.0, 4.0), network::fat_tree({4, 3}, {1, 2}, 1.0), placed,
                                shared, network::dragonfly(3, 1, 1, 1.0), network::rails(3, 4, 1.0, 6.0)}) {
        CAPTURE(over.hosts(), over.switches());
        for (const std::uint64_t elements : {0u, 1u, 11u, 1000u}) {
            check(plan_allreduce(ring{}, {.size = 12}), over, elements);
            check(plan_allreduce(halving_doubling{}, {.size = 12}), over, elements);
            check(plan_allgather(circulant{}, {.size = 12}), over, elements); // messages in parts
            check(plan_reduce(binomial{}, {.size = 12, .root = 7, .blocks = 3}), over, elements);
            check(plan_allreduce(swing_allreduce{{3, 4}}, {.size = 12}), over, elements);
        }
    }
}

TEST_CASE("traffic over a network: a ring loads each cable one way, 2 (p - 1) / p of the vector") {
    for (const rank_t p : {2u, 3u, 8u, 13u}) {
        const network over = network::torus({p}, 1.0, 2.0);
        const std::uint64_t bytes = std::uint64_t{p} * 1000;
        const link_traffic t = traffic(plan_allreduce(ring{}, {.size = p}), over, bytes);
        CHECK(t.messages == 2 * p * (p - 1));
        std::size_t full = 0;
        for (const std::uint64_t b : t.bytes) {
            CHECK((b == 0 || b == 2 * (p - 1) * 1000));
            full += b != 0;
        }
        CHECK(full == 3 * p); // out of each host, to the next switch, into each host
        CHECK(t.busiest_ns == static_cast<double>(2 * (p - 1) * 1000));
        CHECK(over.links()[t.busiest].bytes_per_ns == 1.0);
    }
}

TEST_CASE("traffic over a network: swing on all ports loads the cables of a torus alike") {
    // Two dimensions of powers of two: 0.54 to 0.57 of the vector on the busiest link (Swing, NSDI 2024).
    for (const std::uint32_t extent : {8u, 16u}) {
        const rank_t p = extent * extent;
        const network over = network::torus({extent, extent}, 1.0, 4.0);
        const std::uint64_t bytes = std::uint64_t{p} * 4 * 64;
        const double share =
            traffic(plan_allreduce(swing_allreduce{{extent, extent}}, {.size = p}), over, bytes).busiest_ns /
            static_cast<double>(bytes);
        CAPTURE(extent, share);
        CHECK(share >= 0.53);
        CHECK(share <= 0.58);
    }
}

TEST_CASE("traffic over a network: a group of one, and ranks of one host, load nothing") {
    const network one = network::crossbar(1, 1.0);
    const link_traffic nothing = traffic(plan_allreduce(ring{}, {.size = 4}), one, 4000);
    CHECK(nothing.messages == 24);
    CHECK(nothing.busiest == network::nowhere);
    CHECK(nothing.busiest_ns == 0);
    CHECK(traffic(plan_allreduce(ring{}, {.size = 1}), network::crossbar(4, 1.0), 100).messages == 0);
}
