// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/gather/tree.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/algorithm/packed_trees.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/algorithm/swing.hpp>
#include <bough/core/random.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/network_bound.hpp>
#include <bough/simulate/network_traffic.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace bough;

namespace {

constexpr model::lrc costs_of_bound{
    .message_latency_ns = 1000, .receive = {10}, .combine = {}, .startup_ns = 0, .copy = {}};

double bandwidth_of(const network& n, std::uint8_t kind, rank_t ranks, rank_t root = 0) {
    return detail::network_cuts(n, ranks).bandwidth_ns_per_byte(kind, root);
}

// All cuts, one by one: the most of what(ranks in the set, set) / what the set lets out.
template <class What>
double over_all_cuts(const network& n, rank_t ranks, What&& what) {
    const std::uint32_t vertices = n.hosts() + n.switches();
    double most = 0;
    for (std::uint32_t set = 1; set + 1 < 1u << vertices; ++set) {
        double out = 0;
        for (const network::link& l : n.links())
            if ((set >> l.from & 1u) != 0 && (set >> l.to & 1u) == 0) out += l.bytes_per_ns;
        std::uint32_t in = 0;
        for (rank_t r = 0; r != ranks; ++r) in += set >> n.host_of(r) & 1u;
        const double amount = what(in, set);
        if (amount != 0) most = std::max(most, amount / out);
    }
    return most;
}

network random_network(std::uint64_t seed) {
    random_sequence random(seed, 1, 2);
    const auto below = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random.below(most)); };
    const std::uint32_t hosts = 2 + below(4), switches = 1 + below(4);
    network n(hosts, switches);
    for (std::uint32_t h = 0; h != hosts; ++h) n.join(h, hosts + below(switches), 1 + below(8));
    for (std::uint32_t s = 1; s != switches; ++s) n.join(hosts + s, hosts + below(s), 1 + below(8));
    for (std::uint32_t more = below(6); more-- != 0;) {
        const std::uint32_t a = below(hosts + switches), b = below(hosts + switches);
        if (a != b) n.join(a, b, 0.5 + below(3));
    }
    n.route();
    return n;
}

template <class Plan>
void no_plan_is_faster(const network& n, const Plan& plan, std::uint64_t bytes) {
    const network_bound least = bound_on(n, costs_of_bound, decltype(plan.goal())::kind,
                                         {.size = plan.size(), .root = plan.root(), .blocks = plan.blocks()}, bytes);
    const double found = simulate(plan, costs_of_bound, {.bytes = bytes, .network = &n}).makespan_ns;
    CAPTURE(int{decltype(plan.goal())::kind}, plan.size(), bytes, least.bandwidth_ns, least.latency_ns);
    CHECK(found >= least.ns() * (1 - 1e-9));
    CHECK(least.ns() > 0);
}

// Neighbours of a graph: each rank sends to a few others, also itself, or to none.
neighbourhood random_graph(random_sequence& random, rank_t ranks) {
    std::vector<std::vector<rank_t>> to(ranks);
    for (std::vector<rank_t>& list : to)
        for (rank_t r = 0; r != ranks; ++r)
            if (random.below(3) == 0) list.push_back(r);
    return graph_neighbours{.destinations = to};
}
template <class Plan>
double neighbours_over_bound(const network& n, const Plan& plan, std::uint64_t block_bytes,
                             step_order order = step_order::program) {
    const std::uint64_t bytes = plan.blocks() * block_bytes;
    const network_bound least = bound_on(n, costs_of_bound, plan.goal(), {.size = plan.size()}, bytes);
    const double found = simulate(plan, costs_of_bound, {.bytes = bytes, .order = order, .network = &n}).makespan_ns;
    CAPTURE(int{decltype(plan.goal())::kind}, plan.size(), plan.blocks(), bytes, least.bandwidth_ns, least.latency_ns);
    CHECK(found >= least.ns() * (1 - 1e-9));
    return found / least.ns();
}

} // namespace

TEST_CASE("network_bound: on one switch, what textbooks say") {
    for (const rank_t p : {2u, 3u, 8u, 13u}) {
        const network n = network::crossbar(p, 2);
        const double share = (p - 1.0) / p;
        CHECK(bandwidth_of(n, goal::allgather::kind, p) == Approx(share / 2));
        CHECK(bandwidth_of(n, goal::reduce_scatter::kind, p) == Approx(share / 2));
        CHECK(bandwidth_of(n, goal::allreduce::kind, p) == Approx(2 * share / 2));
        CHECK(bandwidth_of(n, goal::broadcast::kind, p, p - 1) == Approx(0.5));
        CHECK(bandwidth_of(n, goal::reduce::kind, p, 1) == Approx(0.5));
        CHECK(bandwidth_of(n, goal::scatter::kind, p, 1) == Approx(share / 2));
        CHECK(bandwidth_of(n, goal::gather::kind, p) == Approx(share / 2));
        CHECK(bandwidth_of(n, goal::scan::kind, p) == Approx(0.5));
        CHECK(bandwidth_of(n, goal::alltoall::kind, p) == Approx(share / p / 2));
        CHECK(bandwidth_of(n, goal::barrier::kind, p) == 0);
    }
    CHECK(bandwidth_of(network::crossbar(4, 2), goal::allreduce::kind, 1) == 0);
    network together = network::crossbar(4, 2);
    together.placement = {3, 3, 3};
    CHECK(bandwidth_of(together, goal::allreduce::kind, 3) == 0);
}

TEST_CASE("network_bound: tori, oversubscription, rails, sockets") {
    // Half of what the hosts could send leaves a square torus of 8: m / dimensions, nearly.
    const network torus = network::torus({8, 8}, 50, 200);
    CHECK(bandwidth_of(torus, goal::allreduce::kind, 64) == Approx(2.0 * 63 / (64 * 200)));
    CHECK(bandwidth_of(torus, goal::allgather::kind, 64) == Approx(63.0 / 64 / 200));
    CHECK(bandwidth_of(torus, goal::broadcast::kind, 64, 9) == Approx(1.0 / 200));
    // All pairs go 2 + 2 links on average, in either dimension: half of it each.
    CHECK(bandwidth_of(torus, goal::alltoall::kind, 64) == Approx(64 * 64 * 4.0 / 64 / 64 / (64 * 4 * 50)));
    // 8 hosts on a switch with 2 cables up: what 4 such groups exchange.
    const network thin = network::fat_tree({8, 4}, {1, 2}, 1);
    CHECK(bandwidth_of(thin, goal::allreduce::kind, 32) == Approx(2.0 * 31 / 32)); // the hosts' own cables
    CHECK(bandwidth_of(thin, goal::alltoall::kind, 32) == Approx(0.25 * 0.75 / 2));
    const network thinner = network::fat_tree({8, 4}, {1, 1}, 0.5);
    CHECK(bandwidth_of(thinner, goal::allreduce::kind, 32) == Approx(2.0 * 31 / 32 / 0.5));
    CHECK(bandwidth_of(thinner, goal::allgather::kind, 32) == Approx(31.0 / 32 / 0.5));
    // Three levels, with one cable above pods of 4 hosts.
    const network pods = network::fat_tree({2, 2, 3}, {1, 2, 1}, 1);
    CHECK(bandwidth_of(pods, goal::alltoall::kind, 12) >= 4.0 * 8 / 144 / 2 * (1 - 1e-9));
    const network rails = network::rails(4, 4, 1, 100);
    CHECK(bandwidth_of(rails, goal::allreduce::kind, 16) == Approx(2.0 * 3 / (4 * 4)));
    const network sockets = network::sockets(4, 2, 4, 1, 100, 100);
    CHECK(bandwidth_of(sockets, goal::allreduce::kind, 32) == Approx(2.0 * 3 / 4));
    CHECK(bandwidth_of(sockets, goal::allgather::kind, 32) == Approx(0.75));
    // Several ranks on each host.
    CHECK(bandwidth_of(network::crossbar(4, 1), goal::allgather::kind, 8) == Approx(0.75));
    CHECK(bandwidth_of(network::crossbar(4, 1), goal::allreduce::kind, 8) == Approx(1.5));
}

TEST_CASE("network_bound: equal to all cuts, one by one, on random networks") {
    int counted = 0;
    for (std::uint64_t seed = 1; seed != 150; ++seed) {
        const network n = random_network(seed);
        const rank_t ranks = n.hosts() + static_cast<rank_t>(seed % 2);
        const std::uint32_t root = static_cast<std::uint32_t>(seed % n.hosts());
        CAPTURE(seed, n.hosts(), n.switches(), ranks, root);
        const auto has_root = [&](std::uint32_t set) { return (set >> root & 1u) != 0; };
        CHECK(bandwidth_of(n, goal::allgather::kind, ranks) ==
              Approx(over_all_cuts(n, ranks, [&](std::uint32_t in, std::uint32_t) {
                  return in == ranks ? 0.0 : static_cast<double>(in) / ranks;
              })));
        CHECK(bandwidth_of(n, goal::broadcast::kind, ranks, root) ==
              Approx(over_all_cuts(n, ranks, [&](std::uint32_t in, std::uint32_t set) {
                  return has_root(set) && in != ranks ? 1.0 : 0.0;
              })));
        CHECK(bandwidth_of(n, goal::scatter::kind, ranks, root) ==
              Approx(over_all_cuts(n, ranks, [&](std::uint32_t in, std::uint32_t set) {
                  return has_root(set) ? static_cast<double>(ranks - in) / ranks : 0.0;
              })));
        CHECK(bandwidth_of(n, goal::allreduce::kind, ranks) >=
              over_all_cuts(n, ranks, [&](std::uint32_t in, std::uint32_t) {
                  return in == 0 || in == ranks ? 0.0 : 1.0;
              }) * (1 - 1e-9));
        CHECK(bandwidth_of(n, goal::alltoall::kind, ranks) > 0);
        if (ranks == n.hosts())
            CHECK(bandwidth_of(n, goal::scan::kind, ranks) ==
                  Approx(over_all_cuts(n, ranks, [&](std::uint32_t, std::uint32_t set) {
                      for (rank_t r = 1; r != ranks; ++r) // below r in the set, r not
                          if ((set >> r & 1u) == 0 && (set & ((1u << r) - 1)) != 0) return 1.0;
                      return 0.0;
                  })));
        ++counted;
    }
    CHECK(counted == 149);
}

TEST_CASE("network_bound: no plan is faster") {
    network torus = network::torus({4, 4}, 50, 200), mesh = network::mesh({3, 4}, 1, 4);
    torus.hop_ns = 50;
    mesh.hop_ns = 500;
    network fly = network::dragonfly(2, 2, 1, 1, 0.5), thin = network::fat_tree({4, 3}, {1, 2}, 1);
    thin.hop_ns = 10;
    for (const network* n : {&torus, &mesh, &fly, &thin})
        for (const std::uint64_t bytes : {12u * 16u * 12u, 12u * 12u * 16u * 256u}) {
            const dimensions at{.size = n->hosts()}, other{.size = n->hosts(), .root = n->hosts() / 2};
            no_plan_is_faster(*n, plan_allreduce(ring{}, at), bytes);
            no_plan_is_faster(*n, plan_allreduce(circulant{}, at), bytes);
            no_plan_is_faster(*n, plan_allreduce(halving_doubling{}, at), bytes);
            no_plan_is_faster(*n, plan_allreduce(binomial{}, at), bytes);
            no_plan_is_faster(*n, plan_allreduce(swing{}, at), bytes);
            no_plan_is_faster(*n, plan_allgather(ring{}, at), bytes);
            no_plan_is_faster(*n, plan_reduce_scatter(circulant{}, at), bytes);
            no_plan_is_faster(*n, plan_broadcast(binomial{}, other), bytes);
            no_plan_is_faster(*n, plan_broadcast(circulant{}, other), bytes);
            no_plan_is_faster(*n, plan_reduce(binomial{}, other), bytes);
            no_plan_is_faster(*n, plan_gather(flat{}, other), bytes);
            no_plan_is_faster(*n, plan_scatter(flat{}, other), bytes);
            no_plan_is_faster(*n, plan_scan(recursive_doubling_scan{}, at), bytes);
            no_plan_is_faster(*n, plan_alltoall(pairwise_alltoall{}, at), bytes);
            no_plan_is_faster(*n, plan_barrier(dissemination{}, at), 0);
        }
    const auto swung = plan_allreduce(swing{.extents = {4, 4}}, {.size = 16});
    no_plan_is_faster(torus, swung, 1u << 20);
    const double found = simulate(swung, costs_of_bound, {.bytes = 64u << 20, .network = &torus}).makespan_ns;
    const double least = bound_on(torus, costs_of_bound, goal::allreduce::kind, {.size = 16}, 64u << 20).ns();
    CHECK(least / found > 0.85); // and near
}

TEST_CASE("network_bound: where blocks are not alike, as if all were the shortest") {
    const network pair = network::crossbar(2, 1);
    const auto bandwidth = [&](std::uint8_t kind, std::uint64_t bytes, std::uint64_t element_bytes) {
        return bound_on(pair, costs_of_bound, kind, {.size = 2}, bytes, element_bytes).bandwidth_ns;
    };
    // The root sends the second block only, which has one of three elements.
    for (const std::uint64_t element : {1u, 8u}) {
        const auto sent = traffic(plan_scatter(flat{}, {.size = 2}), pair, 3 * element, element);
        CHECK(sent.busiest_ns == Approx(1.0 * static_cast<double>(element)));
        for (const std::uint8_t kind :
             {goal::scatter::kind, goal::gather::kind, goal::allgather::kind, goal::reduce_scatter::kind})
            CHECK(bandwidth(kind, 3 * element, element) == Approx(1.0 * static_cast<double>(element)));
        CHECK(bandwidth(goal::alltoall::kind, 7 * element, element) == Approx(1.0 * static_cast<double>(element)));
        CHECK(bandwidth(goal::broadcast::kind, 3 * element, element) == Approx(3.0 * static_cast<double>(element)));
        CHECK(bandwidth(goal::allreduce::kind, 3 * element, element) == Approx(3.0 * static_cast<double>(element)));
    }
    const goal::neighbour_alltoall there_and_back{graph_neighbours{.destinations = {{1}, {0}}}};
    CHECK(bound_on(pair, costs_of_bound, there_and_back, {.size = 2}, 24, 8).bandwidth_ns == Approx(8));
    CHECK(bound_on(pair, costs_of_bound, there_and_back, {.size = 2}, 24).bandwidth_ns == Approx(12));
}

TEST_CASE("network_bound: where a plan cuts the blocks of ranks, their shares differ by more") {
    // 29 elements are 10, 10 and 9 in 3 blocks; in 12 the first five are longer, so that shares of four are
    // 12, 9 and 8; in 48 there is nothing left for the last rank.
    const network star = network::crossbar(3, 1);
    const auto bandwidth = [&](std::uint8_t kind, block_t blocks, std::uint64_t element_bytes) {
        const dimensions at{.size = 3, .blocks = blocks};
        return bound_on(star, costs_of_bound, kind, at, 29 * element_bytes, element_bytes).bandwidth_ns;
    };
    for (const std::uint64_t element : {1u, 8u})
        for (const std::uint8_t kind : {goal::allgather::kind, goal::reduce_scatter::kind}) {
            const double one = 2.0 * static_cast<double>(element); // of the others, an element of each
            CHECK(bandwidth(kind, natural_blocks, element) == Approx(9 * one));
            CHECK(bandwidth(kind, 3, element) == Approx(9 * one));
            CHECK(bandwidth(kind, 6, element) == Approx(9 * one));
            CHECK(bandwidth(kind, 12, element) == Approx(8 * one));
            CHECK(bandwidth(kind, 48, element) == 0);
            CHECK(bandwidth(kind, 13, element) == Approx(9 * one)); // no plan has so many
        }
    // A scatter does not cut them, and an allreduce has no shares.
    CHECK(bandwidth(goal::scatter::kind, 12, 1) == Approx(2 * 9));
    CHECK(bandwidth(goal::allreduce::kind, 12, 1) == Approx(2 * 2 / 3.0 * 29));
}

TEST_CASE("network_bound: no plan that cuts the blocks of ranks is faster, whatever the length") {
    // Over one switch, where the first rank has a slow cable and sends its block only once: the bound is
    // reached, but for what the shares differ.
    double nearest = 0;
    const auto check = [&](const network& n, const auto& plan, std::uint64_t bytes) {
        no_plan_is_faster(n, plan, bytes);
        const dimensions at{.size = plan.size(), .blocks = plan.blocks()};
        const double least = bound_on(n, model::lrc{}, decltype(plan.goal())::kind, at, bytes).ns();
        const double found = simulate(plan, model::lrc{}, {.bytes = bytes, .network = &n}).makespan_ns;
        CAPTURE(bytes, plan.size(), plan.blocks(), found, least);
        CHECK(least <= found * (1 + 1e-9));
        nearest = std::max(nearest, least / found);
    };
    for (const rank_t p : {3u, 4u, 7u}) {
        network star(p, 1);
        for (rank_t r = 0; r != p; ++r) star.join(r, p, r == 0 ? 1 : 100);
        star.route();
        const network ring = network::torus({p}, 1, 2);
        std::vector<table> straight;
        for (rank_t root = 0; root != p; ++root) {
            std::vector<rank_t> parents(p, std::max<rank_t>(root, 1));
            if (root == 0) parents[1] = 0;
            parents[root] = no_rank;
            straight.push_back(table::from_parents(parents));
        }
        for (const std::uint64_t bytes : {3u, 17u, 1000u, 4099u, 100'003u})
            for (const block_t each : {1u, 2u, 7u, 32u}) {
                const dimensions at{.size = p, .blocks = each * p};
                for (const network& n : {star, ring}) {
                    check(n, plan_allgather(packed_trees_allgather{straight}, at), bytes);
                    check(n, plan_reduce_scatter(packed_trees_reduce_scatter{straight}, at), bytes);
                }
                check(ring, plan_allgather(bucket{.extents = {p}}, {.size = p}), bytes);
                check(ring, plan_reduce_scatter(bucket{.extents = {p}}, {.size = p}), bytes);
            }
    }
    CHECK(nearest > 0.9999);
}

TEST_CASE("network_bound: latency is that of the longest way") {
    network n = network::mesh({5}, 1);
    n.hop_ns = 100;
    const auto latency = [&](std::uint8_t kind, rank_t root) {
        return bound_on(n, costs_of_bound, kind, {.size = 5, .root = root}, 0).latency_ns;
    };
    CHECK(latency(goal::barrier::kind, 0) == Approx(1010 + 600));
    CHECK(latency(goal::allreduce::kind, 2) == Approx(1010 + 600));
    CHECK(latency(goal::broadcast::kind, 2) == Approx(1010 + 400));
    CHECK(latency(goal::gather::kind, 0) == Approx(1010 + 600));
    CHECK(bound_on(n, costs_of_bound, goal::barrier::kind, {.size = 1}, 0).ns() == 0);
    // Beyond most_hosts_cut only parts are tried.
    const network large = network::crossbar(600, 2);
    const network_bound least = bound_on(large, costs_of_bound, goal::allreduce::kind, {.size = 600}, 1000);
    CHECK_FALSE(least.all_cuts);
    CHECK(least.bandwidth_ns == Approx(1000 * 599.0 / 600));
}

TEST_CASE("network_bound: of neighbours, what each rank and each part must send and take") {
    const auto bandwidth = [](const network& n, const auto& goal, rank_t size, std::uint64_t bytes) {
        return bound_on(n, costs_of_bound, goal, {.size = size}, bytes).bandwidth_ns;
    };
    const neighbourhood star{grid_neighbours{.extents = {4, 4}, .offsets = {{1}, {-1}, {0, 1}, {0, -1}}}};
    // One switch: 4 blocks out of each host, 4 into it.
    CHECK(bandwidth(network::crossbar(16, 2), goal::neighbour_alltoall{star}, 16, 64 * 100) == Approx(400 / 2.0));
    // An allgather sends a block out once, if the switch can copy it; 4 blocks come in.
    CHECK(bandwidth(network::crossbar(16, 2), goal::neighbour_allgather{star}, 16, 16 * 100) == Approx(400 / 2.0));
    // One rank sends to all others: they take one each; its own cable carries one block, or 5.
    const neighbourhood from_one{graph_neighbours{.destinations = {{1, 2, 3, 4, 5}, {}, {}, {}, {}, {}}}};
    CHECK(bandwidth(network::crossbar(6, 1), goal::neighbour_allgather{from_one}, 6, 600) == Approx(100));
    CHECK(bandwidth(network::crossbar(6, 1), goal::neighbour_alltoall{from_one}, 6, 500) == Approx(500));
    // Two switches with 4 hosts each and one cable of speed 1: 16 pairs to pass it each way.
    const network thin = network::fat_tree({4, 2}, {1, 1}, 1);
    std::vector<std::vector<rank_t>> across(8);
    for (rank_t r = 0; r != 8; ++r)
        for (rank_t k = 0; k != 4; ++k) across[r].push_back((r / 4 * 4 + 4) % 8 + k);
    const neighbourhood halves{graph_neighbours{.destinations = across}};
    CHECK(bandwidth(thin, goal::neighbour_alltoall{halves}, 8, 32 * 10) == Approx(160));
    CHECK(bandwidth(thin, goal::neighbour_allgather{halves}, 8, 8 * 10) == Approx(40));
    // Nobody sends to another.
    const neighbourhood nobody{graph_neighbours{.destinations = {{0}, {}, {}}}};
    CHECK(bandwidth(network::crossbar(3, 1), goal::neighbour_alltoall{nobody}, 3, 100) == 0);
    network far = network::mesh({5}, 1);
    far.hop_ns = 100;
    const neighbourhood line{grid_neighbours{.extents = {5}, .offsets = {{1}}, .ends = {true}}};
    CHECK(bound_on(far, costs_of_bound, goal::neighbour_alltoall{line}, {.size = 5}, 0).latency_ns ==
          Approx(1010 + 300)); // out of the host, one cable, into the host
}

TEST_CASE("network_bound: of neighbours, no plan is faster") {
    network torus = network::torus({4, 4}, 50, 200), mesh = network::mesh({4, 4}, 1, 4);
    torus.hop_ns = 50;
    network thin = network::fat_tree({4, 4}, {1, 2}, 1);
    for (const network* n : {&torus, &mesh, &thin})
        for (const std::uint64_t block : {8u, 10'000u})
            for (const bool ends : {false, true}) {
                const neighbourhood box{
                    grid_neighbours{.extents = {4, 4}, .offsets = box_offsets(2), .ends = {ends, ends}}};
                neighbours_over_bound(*n, plan_neighbour_alltoall(direct_neighbours{}, box, {.size = 16}), block);
                neighbours_over_bound(*n, plan_neighbour_alltoall(by_dimension{}, box, {.size = 16}), block);
                neighbours_over_bound(*n, plan_neighbour_allgather(direct_neighbours{}, box, {.size = 16}), block);
                neighbours_over_bound(*n, plan_neighbour_allgather(by_dimension{}, box, {.size = 16}), block);
            }
    const neighbourhood star{grid_neighbours{.extents = {4, 4}, .offsets = {{1}, {-1}, {0, 1}, {0, -1}}}};
    CHECK(neighbours_over_bound(torus, plan_neighbour_alltoall(direct_neighbours{}, star, {.size = 16}), 10'000'000,
                                step_order::dependence) < 1.1); // and near, with all neighbours at once
    random_sequence random(bough_test::seed(), 0, 0);
    for (std::uint64_t trial = 0; trial != 60; ++trial) {
        const network n = random_network(1000 + trial);
        const neighbourhood around = random_graph(random, n.hosts());
        if (around.blocks(n.hosts()) == 0) continue;
        CAPTURE(trial);
        neighbours_over_bound(n, plan_neighbour_alltoall(direct_neighbours{}, around, {.size = n.hosts()}), 1000);
        neighbours_over_bound(n, plan_neighbour_allgather(direct_neighbours{}, around, {.size = n.hosts()}), 1000);
    }
}
