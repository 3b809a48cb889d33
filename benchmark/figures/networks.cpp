// SPDX-License-Identifier: BSL-1.0
// The figures of the pages on networks: allreduce on simulated tori, with a late rank, and with a slow
// cable; the neighbours of a stencil; alltoallv in slots; alltoall over nodes; what goes between groups.
// Those on tori and with a slow cable stand in both readings, eager and strict; in the others the strict
// times are the same (test/model/rendezvous.cpp).
#include "csv.hpp"
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/grouped.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/algorithm/swing.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/two_level.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/traffic.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/bine.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bough;

constexpr model::lrc message_of_1_us{
    .message_latency_ns = 1000, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}};

// Do messages set out wherever their receivers are, or when both ranks have got to them?
enum class reading : std::uint8_t { eager, strict };
constexpr std::uint64_t eager_bytes(reading how) { return how == reading::strict ? 0 : ~std::uint64_t{0}; }
std::string named(const char* table, reading how) {
    return std::string(table) + (how == reading::strict ? "_strict" : "");
}

template <class A>
double allreduce_us(const A& algorithm, rank_t ranks, std::uint64_t bytes, const network& net, reading how) {
    return simulate(plan_allreduce(algorithm, {.size = ranks}), message_of_1_us,
                    {.bytes = bytes, .eager_bytes = eager_bytes(how), .network = &net})
               .makespan_ns /
           1000;
}

void on_tori(const std::string& directory, reading how) {
    figures::csv table(directory, named("networks_tori", how),
                       "torus,mebibytes,swing_us,one_port_us,bucket_us,one_port_us,best_of_others_us,which,"
                       "swing_faster,bucket_faster");
    for (const grid_extents& grid : {grid_extents{8, 8}, {16, 16}, {4, 4, 4}, {6, 10}}) {
        std::string name;
        rank_t ranks = 1;
        std::vector<std::uint32_t> extents;
        for (std::uint32_t d = 0; d != grid.dimensions; ++d) {
            name += (d == 0 ? "" : "x") + std::to_string(grid.extent[d]);
            ranks *= grid.extent[d];
            extents.push_back(grid.extent[d]);
        }
        network net = network::torus(extents, 50, 100.0 * grid.dimensions);
        net.hop_ns = 50;
        for (const std::uint64_t mebibytes : {1u, 32u}) {
            const std::uint64_t bytes = mebibytes << 20;
            const double swung = allreduce_us(swing{grid}, ranks, bytes, net, how);
            const double swung_by_one = allreduce_us(swing{grid, 1}, ranks, bytes, net, how);
            const double by_bucket = allreduce_us(bucket{grid}, ranks, bytes, net, how);
            const double by_bucket_by_one = allreduce_us(bucket{grid, 1}, ranks, bytes, net, how);
            std::vector<std::pair<double, std::string>> others{
                {allreduce_us(halving_doubling{}, ranks, bytes, net, how), "halving_doubling"},
                {allreduce_us(lowest_bit_first{}, ranks, bytes, net, how), "lowest_bit_first"}};
            if (ranks <= 64 || mebibytes == 1) { // a ring and a circulant graph of 256 take minutes
                others.push_back({allreduce_us(ring{}, ranks, bytes, net, how), "ring"});
                others.push_back({allreduce_us(circulant{}, ranks, bytes, net, how), "circulant"});
            }
            const auto best = *std::min_element(others.begin(), others.end());
            table.row(name, mebibytes, swung, swung_by_one, by_bucket, by_bucket_by_one, best.first, best.second,
                      best.first / swung, best.first / by_bucket);
        }
    }
}

// From the arrival of the late rank to the end.
template <class A>
double after_arrival_ms(const A& algorithm, const dimensions& at, std::uint64_t bytes) {
    constexpr model::alpha_beta_gamma costs{.alpha_ns = 3000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    std::vector<std::uint64_t> arrivals(at.size, 0);
    arrivals[at.root] = 100'000'000;
    return model::walk(plan_allreduce(algorithm, at), model::arriving{costs, arrivals}, bytes).makespan_ns / 1e6 - 100;
}

void one_late_rank(const std::string& directory) {
    figures::csv table(directory, "networks_late_rank", "ranks,late_rank_ms,blocks,ring_ms,circulant_ms,times_faster");
    for (const rank_t ranks : {8u, 13u, 24u, 48u}) {
        const std::uint64_t bytes = 64 << 20;
        const dimensions at{.size = ranks, .root = 2};
        double best = after_arrival_ms(late_rank_allreduce{}, {.size = ranks, .root = 2, .blocks = 1}, bytes);
        block_t blocks = 1;
        for (block_t n = 2; n <= 1024; n *= 2) {
            const double now = after_arrival_ms(late_rank_allreduce{}, {.size = ranks, .root = 2, .blocks = n}, bytes);
            if (now < best) best = now, blocks = n;
        }
        const double around = after_arrival_ms(ring{}, at, bytes), skips = after_arrival_ms(circulant{}, at, bytes);
        table.row(ranks, best, blocks, around, skips, std::min(around, skips) / best);
    }
}

void one_slow_cable(const std::string& directory, reading how) {
    figures::csv table(directory, named("networks_slow_rank", how),
                       "share,ranks,slow_rank_ms,ring_ms,times_faster,bound_ms");
    const std::uint64_t bytes = 64 << 20;
    for (const double share : {1.0, 0.5, 0.25})
        for (const rank_t ranks : {8u, 16u}) {
            network star(ranks, 1);
            for (rank_t r = 0; r != ranks; ++r) star.join(r, ranks, r == 3 ? 25 * share : 25);
            star.route();
            const auto run = [&](const auto& plan) {
                return simulate(plan, message_of_1_us,
                                {.bytes = bytes, .eager_bytes = eager_bytes(how), .network = &star})
                           .makespan_ns /
                       1e6;
            };
            const double found =
                run(plan_allreduce(slow_rank_allreduce{3}, {.size = ranks, .blocks = 16 * (ranks - 1)}));
            const double around = run(plan_allreduce(ring{}, {.size = ranks}));
            const double vector_ms = static_cast<double>(bytes) / 25e6;
            table.row(share, ranks, found, around, around / found,
                      std::max(vector_ms / share, (2 - 1.0 / (ranks - 1)) * vector_ms));
        }
}

// With `bytes` a block.
void stencils(const std::string& directory) {
    constexpr model::alpha_beta_gamma costs{.alpha_ns = 1000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    figures::csv table(directory, "networks_neighbours",
                       "points,bytes,messages,by_dimension,alltoall_us,by_dimension_us,faster,allgather_us,"
                       "by_dimension_us,faster");
    for (const auto& [grid, reach] :
         {std::pair{grid_extents{8, 8}, 1}, {grid_extents{4, 4, 4}, 1}, {grid_extents{5, 5, 5}, 2}}) {
        const grid_neighbours around{.extents = grid, .offsets = box_offsets(grid.dimensions, reach)};
        rank_t ranks = 1;
        for (std::uint32_t d = 0; d != grid.dimensions; ++d) ranks *= grid.extent[d];
        const dimensions at{.size = ranks};
        for (const std::uint64_t bytes : {8u, 1024u, 32768u}) {
            const auto us = [&](const auto& plan) {
                return model::walk(plan, costs, bytes * plan.blocks()).makespan_ns / 1000;
            };
            const auto straight = plan_neighbour_alltoall(direct_neighbours{}, around, at);
            const auto by_hops = plan_neighbour_alltoall(by_dimension{}, around, at);
            const double gather = us(plan_neighbour_allgather(direct_neighbours{}, around, at));
            const double gather_by_hops = us(plan_neighbour_allgather(by_dimension{}, around, at));
            table.row(around.offsets.size() + 1, bytes, verify(straight).traits.rounds, verify(by_hops).traits.rounds,
                      us(straight), us(by_hops), us(straight) / us(by_hops), gather, gather_by_hops,
                      gather / gather_by_hops);
        }
    }
}

// Blocks of up to `bytes` bytes, each with its length in front when it goes by way of others.
void short_blocks_of_many(const std::string& directory) {
    constexpr model::alpha_beta_gamma costs{.alpha_ns = 1000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    figures::csv table(directory, "networks_alltoallv",
                       "ranks,bytes,pairwise_us,radix_2_us,best_radix,us,times_faster");
    for (const rank_t ranks : {64u, 1024u})
        for (const std::uint64_t bytes : {8u, 16u, 64u, 256u, 1024u}) {
            const auto us = [&](const auto& plan, std::uint64_t each) {
                return simulate(plan, costs, {.bytes = each * plan.blocks()}).makespan_ns / 1000;
            };
            const double straight = us(plan_alltoall(pairwise_alltoall{}, {.size = ranks}), bytes);
            double best = 0, binary = 0;
            rank_t best_radix = 0;
            for (const rank_t radix : {2u, 4u, 8u, 16u, 32u}) {
                const double now = us(plan_alltoall(bruck_alltoall{radix - 1}, {.size = ranks}), bytes + 8);
                if (radix == 2) binary = now;
                if (best_radix == 0 || now < best) best = now, best_radix = radix;
            }
            table.row(ranks, bytes, straight, binary, best_radix, best, straight / best);
        }
}

// A block of so many bytes for each rank, over nodes of so many ranks each.
void alltoall_over_nodes(const std::string& directory) {
    constexpr model::alpha_beta_gamma near{.alpha_ns = 300, .beta_ns_per_byte = 0.05, .gamma_ns_per_byte = 0};
    constexpr model::alpha_beta_gamma far{.alpha_ns = 2000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0};
    figures::csv table(directory, "networks_nodes",
                       "nodes,bytes,pairwise_us,best_radix,bruck_us,lanes,grouped_us,times_faster");
    const auto equal = [](rank_t nodes, rank_t each) { return std::vector<rank_t>(nodes, each); };
    for (const auto& [name, sizes] : {std::pair<std::string, std::vector<rank_t>>{"4 of 16", equal(4, 16)},
                                      {"16 of 16", equal(16, 16)},
                                      {"24 20 12 8", {24, 20, 12, 8}}}) {
        std::vector<rank_t> node_of;
        for (rank_t node = 0; node != sizes.size(); ++node) node_of.insert(node_of.end(), sizes[node], node);
        const listed_groups nodes(node_of);
        const dimensions at{.size = static_cast<rank_t>(node_of.size())};
        const rank_t most = *std::max_element(sizes.begin(), sizes.end());
        for (const std::uint64_t bytes : {8u, 64u, 512u, 4096u}) {
            const auto us = [&](const auto& algorithm) {
                return model::walk(plan_alltoall(algorithm, at), model::two_level{near, far, node_of.data()},
                                   bytes * at.size * at.size)
                           .makespan_ns /
                       1000;
            };
            const double straight = us(pairwise_alltoall{});
            std::pair<double, rank_t> by_digits{us(bruck_alltoall{}), 2}, grouped{us(grouped_alltoall{nodes}), 1};
            for (const rank_t radix : {4u, 8u, 16u, 32u})
                by_digits = std::min(by_digits, {us(bruck_alltoall{radix - 1}), radix});
            for (rank_t lanes = 2; lanes < 2 * most; lanes *= 2) {
                const rank_t n = std::min(lanes, most);
                grouped = std::min(grouped, {us(grouped_alltoall{nodes, n}), n});
            }
            table.row(name, bytes, straight, by_digits.second, by_digits.first, grouped.second, grouped.first,
                      std::min(straight, by_digits.first) / grouped.first);
        }
    }
}

// Vectors that cross from group to group, on average over all ways in which groups may be shifted.
void between_groups(const std::string& directory) {
    figures::csv table(directory, "networks_groups",
                       "ranks,group,bine_broadcast,binomial_broadcast,swing_reduce_scatter,halving,lowest_bit_first");
    for (const rank_t ranks : {1000u, 1024u})
        for (const rank_t group : {16u, 48u}) {
            const auto vectors = [&](const auto& plan) {
                std::uint64_t sum = 0;
                for (rank_t shift = 0; shift != group; ++shift)
                    sum += traffic(plan, [&](rank_t r) { return (r + shift) / group; }).across.blocks;
                return static_cast<double>(sum) / group / plan.blocks();
            };
            const dimensions at{.size = ranks};
            table.row(ranks, group, vectors(plan_broadcast(bine{}, at)), vectors(plan_broadcast(binomial{}, at)),
                      vectors(plan_reduce_scatter(swing{}, at)), vectors(plan_reduce_scatter(halving_doubling{}, at)),
                      vectors(plan_reduce_scatter(lowest_bit_first{}, at)));
        }
}

} // namespace

int main(int count, char** arguments) {
    const std::string directory = figures::directory(count, arguments);
    for (const reading how : {reading::eager, reading::strict}) on_tori(directory, how), one_slow_cable(directory, how);
    one_late_rank(directory);
    stencils(directory);
    short_blocks_of_many(directory);
    alltoall_over_nodes(directory);
    between_groups(directory);
}
