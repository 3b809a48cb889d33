// SPDX-License-Identifier: BSL-1.0
// How well choose chooses, counted on networks that it does not know: their models have parameters, and even kinds of costs,
// that the chooser's alpha-beta-gamma model lacks. That model is fitted, by the library's own fit, to messages, exchanges and
// combines timed on the network, as measure_transfers times them. Everything is computed, nothing is timed.
#ifndef BOUGH_BENCHMARK_RUN_CHOICE_HPP
#define BOUGH_BENCHMARK_RUN_CHOICE_HPP

#include <bough/algorithm/allgather/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/binary_blocks.hpp>
#include <bough/algorithm/best_levels.hpp>
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/double_tree.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/algorithm/reduce/binary_blocks.hpp>
#include <bough/algorithm/reduce/ring.hpp>
#include <bough/measure_transfers.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/fit_alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rdma.hpp>
#include <bough/model/walk.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allgather.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/reduce_scatter.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace bough_benchmark {

using namespace bough;

// What the library's own fit finds of a network by timing it.
template <CostModel M>
model::alpha_beta_gamma fitted_to(const M& network) {
    std::vector<model::transfer_sample> samples;
    const auto chain_ns = [&](std::uint64_t bytes, std::uint32_t rounds, model::transfer_kind kind) {
        const plan<goal::broadcast, detail::transfer_rounds> timed({rounds, kind}, {.size = 2});
        return model::walk(timed, network, bytes).makespan_ns;
    };
    for (const std::uint64_t bytes : transfer_options{}.bytes) {
        for (const auto kind :
             {model::transfer_kind::one_way, model::transfer_kind::exchange, model::transfer_kind::burst}) {
            const double round_ns = (chain_ns(bytes, 9, kind) - chain_ns(bytes, 1, kind)) / 8;
            samples.push_back({kind, bytes, kind == model::transfer_kind::one_way ? round_ns / 2 : round_ns});
        }
        samples.push_back({model::transfer_kind::combine, bytes, network.combine_ns(0, bytes)});
    }
    model::alpha_beta_gamma found = model::fit_alpha_beta_gamma(samples).model;
    found.early = true; // as measure_transfers says
    return found;
}

// The standard candidates, and all others that could be better than they are, in more numbers of blocks.
template <class Goal>
candidate_list wide_candidates(const dimensions& at, const problem& what, const model::alpha_beta_gamma& costs) {
    candidate_list all = standard_candidates<Goal>(at, what);
    if (at.size < 2) return all;
    const level_costs levels{costs.alpha_ns, costs.beta_ns_per_byte, costs.gamma_ns_per_byte};
    const auto best = best_levels(at.size, levels, static_cast<double>(what.bytes));
    const auto in_blocks = [&](const auto& algorithm, block_t most) {
        for (block_t blocks = 1; blocks <= most && what.bytes / blocks >= 256; blocks *= 2) all.add(algorithm, blocks);
    };
    if constexpr (std::is_same_v<Goal, goal::allreduce>) {
        all.add(per_level_allreduce{.levels = best, .form = level_form::halving});
        all.add(binary_blocks_allreduce{});
        for (rank_t degree = 2; degree <= 8; ++degree) all.add(tree_allreduce{fnomial{degree}});
        in_blocks(tree_allreduce{fnomial{2}}, 64);
        in_blocks(double_tree_allreduce{}, 256);
    }
    if constexpr (std::is_same_v<Goal, goal::reduce>) {
        all.add(per_level_reduce{.levels = best}).add(binary_blocks_reduce{}).add(ring_reduce{});
        for (rank_t degree = 2; degree <= 8; ++degree) all.add(tree_reduce{fnomial{degree}});
        in_blocks(tree_reduce{fnomial{2}}, 64);
        in_blocks(double_tree_reduce{}, 256);
        in_blocks(circulant_reduce{}, 512);
        in_blocks(tree_reduce{chain{}}, 512);
    }
    if constexpr (std::is_same_v<Goal, goal::broadcast>) {
        for (rank_t degree = 2; degree <= 8; ++degree) all.add(tree_broadcast{fnomial{degree}});
        in_blocks(tree_broadcast{fnomial{2}}, 64);
        in_blocks(double_tree_broadcast{}, 256);
        in_blocks(circulant_broadcast{}, 512);
        in_blocks(tree_broadcast{chain{}}, 512);
        all.add(scatter_allgather{binomial{}, circulant_allgather{}});
    }
    if constexpr (std::is_same_v<Goal, goal::reduce_scatter>)
        all.add(circulant_reduce_scatter{.ports = 2}).add(recursive_halving{distances::halving});
    if constexpr (std::is_same_v<Goal, goal::allgather>)
        all.add(circulant_allgather{.ports = 2}).add(recursive_doubling_allgather{}).add(bruck_allgather{.ports = 2});
    return all;
}

struct choice_point {
    rank_t ranks = 0;
    std::uint64_t bytes = 0;
    std::string chosen, fastest;
    double chosen_ns = 0, fastest_ns = 0; // on the network
    double factor() const { return fastest_ns == 0 ? 1 : chosen_ns / fastest_ns; }
};

// What the chooser takes, and what would have been the fastest.
template <class Goal, CostModel M>
choice_point choose_on(const M& network, const model::alpha_beta_gamma& fitted, rank_t ranks, std::uint64_t bytes) {
    const dimensions at{.size = ranks};
    const problem what{.bytes = bytes};
    const candidate_list all = wide_candidates<Goal>(at, what, fitted);
    const decision made = choose(standard_candidates<Goal>(at, what), at, what, any_costs(fitted));
    const decision truth = choose(all, at, what, any_costs(network), {.most_steps = std::uint64_t{1} << 40});
    choice_point point{ranks, bytes, made.winner().what.text().c_str(), truth.winner().what.text().c_str()};
    point.chosen_ns = any_costs(network).price_ns(
        plan_ref(made.winner().what.algorithm, {ranks, at.root, made.winner().blocks}), what);
    point.fastest_ns = truth.winner().predicted_ns;
    return point;
}

// Calls f(name, model) for the networks: none is of the chooser's kind, or has parameters that it was told.
template <class F>
void for_each_network(F&& f) {
    // A cluster of today: 1.6 us, 10 GB/s, messages land while the processor works.
    f("loggops, fast", model::loggops{.message_latency_ns = 1200,
                                      .overhead = {200, 0.0},
                                      .gap = {150, 0.1},
                                      .combine = {40, 0.12},
                                      .copy = {20, 0.05}});
    // Ethernet through the kernel: processors touch each byte.
    f("loggops, slow", model::loggops{.message_latency_ns = 22000,
                                      .overhead = {3500, 0.4},
                                      .gap = {1000, 1.0},
                                      .combine = {100, 0.3},
                                      .copy = {50, 0.1}});
    // The paper's own VIA.
    f("rdma", model::rdma{.mpi_ns = 1300,
                          .descriptor_ns = 600,
                          .dma_startup_ns = 2000,
                          .nic_ns = 1520,
                          .transmit_ns_per_byte = 10,
                          .operation_ns_per_byte = 4,
                          .copy_ns_per_byte = 2.7});
    // A message costs its receiver only: to send is free, also to many at once. What two ranks can measure does not show that,
    // so broadcasts are left out (for_each_choice_goal).
    f("lrc", model::lrc{.message_latency_ns = 2000,
                        .receive = {400, 1.0},
                        .combine = {100, 0.5},
                        .startup_ns = 300,
                        .copy = {20, 0.1}});
    // Rabenseifner's kind, but half duplex, and messages land early.
    f("half duplex, early", model::alpha_beta_gamma{.alpha_ns = 3000,
                                                    .beta_ns_per_byte = 0.8,
                                                    .gamma_ns_per_byte = 0.5,
                                                    .f_alpha = 0.7,
                                                    .f_beta = 0.6,
                                                    .early = true});
}

// Calls f(goal, name) for the collectives to be counted on a network.
template <CostModel M, class F>
void for_each_choice_goal(const M&, F&& f) {
    f(goal::allreduce{}, "allreduce");
    f(goal::reduce{}, "reduce");
    if constexpr (!std::is_same_v<M, model::lrc>) f(goal::broadcast{}, "broadcast");
    f(goal::reduce_scatter{}, "reduce_scatter");
    f(goal::allgather{}, "allgather");
}

} // namespace bough_benchmark

#endif
