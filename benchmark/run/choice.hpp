// SPDX-License-Identifier: BSL-1.0
// How well choose chooses, counted on networks that it does not know: their models have parameters, and even kinds of costs,
// that the chooser's alpha-beta-gamma model lacks. That model is fitted, by the library's own fit, to messages and exchanges,
// with combines and without, timed on the network, as measure_transfers times them. Everything is computed, nothing is timed.
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
#include <bough/measure/transfers.hpp>
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

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace bough_benchmark {

using namespace bough;

// What the library's own fit finds of a network by timing it.
template <CostModel M>
model::alpha_beta_gamma fitted_to(const M& network) {
    std::vector<model::transfer_sample> samples;
    using enum model::transfer_kind;
    for (const std::uint64_t bytes : transfer_options{}.bytes)
        for (const auto kind : {one_way, exchange, exchange_combine, burst, fan_in, fan_out}) {
            const rank_t peers = kind == fan_in || kind == fan_out ? 8 : 1;
            const auto rank_0_ns = [&](std::uint32_t rounds) {
                const plan<goal::allreduce, detail::transfer_rounds> timed({rounds, kind, peers}, {.size = peers + 1});
                return model::finish_times(timed, network, bytes * timed.blocks())[0];
            };
            using rounds = detail::transfer_rounds;
            const double round_ns = (rank_0_ns(rounds::many) - rank_0_ns(rounds::few)) / (rounds::many - rounds::few);
            samples.push_back({kind, bytes, kind == one_way ? round_ns / 2 : round_ns / peers, peers});
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
    const decision made = choose(standard_candidates<Goal>(at, what), at, what, any_cost_model(fitted));
    const decision truth =
        choose(all, at, what, any_cost_model(network), {.exact = true, .most_steps = std::uint64_t{1} << 40});
    choice_point point{ranks, bytes, made.winner().what.text().c_str(), truth.winner().what.text().c_str()};
    point.chosen_ns = any_cost_model(network).price_ns(
        plan_ref(made.winner().what.algorithm, {ranks, at.root, made.winner().blocks}), what);
    point.fastest_ns = truth.winner().predicted_ns;
    return point;
}

// Where choices are counted. What the standard candidates are was settled by looking at the known ones; nobody looks at the
// others: their networks have random parameters, and their numbers of ranks and sizes are not among the known.
struct choice_points {
    std::vector<rank_t> ranks;
    std::uint64_t first_bytes = 0, last_bytes = 0; // each four times the one before

    template <class F>
    void for_each(F&& f) const {
        for (const rank_t p : ranks)
            for (std::uint64_t bytes = first_bytes; bytes <= last_bytes; bytes *= 4) f(p, bytes);
    }
};
inline const choice_points known_points{{2, 3, 4, 5, 7, 8, 12, 13, 16, 24, 32, 48, 64}, 8, std::uint64_t{1} << 25};
inline const choice_points held_out_points{{6, 9, 11, 15, 20, 27, 40, 57}, 24, std::uint64_t{24} << 20};

// Calls f(name, model) for the known networks: none is of the chooser's kind, or has parameters that it was told.
template <class F>
void for_each_known_network(F&& f) {
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
    // A message costs its receiver only: to send is free, also to many at once.
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

// Calls f(name, model) for networks of random parameters, always the same ones: of every kind as many.
template <class F>
void for_each_held_out_network(F&& f, int of_each_kind = 3) {
    std::mt19937_64 random(20041107);
    // Between two bounds, each power of two as often; of two digits, so that every machine has the same.
    const auto between = [&](double low, double high) {
        const double share = static_cast<double>(random() >> 11) * 0x1p-53;
        const double drawn = low * std::pow(high / low, share);
        const double digit = std::pow(10, std::floor(std::log10(drawn)) - 1);
        return std::round(drawn / digit) * digit;
    };
    for (int i = 1; i <= of_each_kind; ++i) {
        const std::string number = ' ' + std::to_string(i);
        const double message_ns = between(500, 30000), byte_ns = between(0.05, 2);
        const model::cost_per_size combine{between(20, 200), byte_ns * between(0.2, 2)},
            copy{between(10, 100), between(0.02, 0.2)};
        f("loggops" + number,
          model::loggops{.message_latency_ns = message_ns,
                         .overhead = {message_ns * between(0.05, 0.5), byte_ns * between(0.01, 0.5)},
                         .gap = {message_ns * between(0.05, 0.5), byte_ns},
                         .combine = combine,
                         .copy = copy});
        f("rdma" + number, model::rdma{.mpi_ns = message_ns * between(0.1, 0.5),
                                       .descriptor_ns = message_ns * between(0.05, 0.2),
                                       .dma_startup_ns = message_ns * between(0.1, 0.5),
                                       .nic_ns = message_ns * between(0.1, 0.5),
                                       .transmit_ns_per_byte = byte_ns,
                                       .operation_ns_per_byte = combine.per_byte_ns,
                                       .copy_ns_per_byte = copy.per_byte_ns});
        f("lrc" + number, model::lrc{.message_latency_ns = message_ns,
                                     .receive = {message_ns * between(0.05, 1), byte_ns},
                                     .combine = combine,
                                     .startup_ns = between(50, 500),
                                     .copy = copy});
        // The chooser's own kind, but for how many directions at once the network carries.
        f("half duplex" + number, model::alpha_beta_gamma{.alpha_ns = message_ns,
                                                          .beta_ns_per_byte = byte_ns,
                                                          .gamma_ns_per_byte = combine.per_byte_ns,
                                                          .f_alpha = between(0.5, 1),
                                                          .f_beta = between(0.5, 1),
                                                          .early = i % 2 == 0,
                                                          .held_alpha = between(0.1, 1),
                                                          .held_beta = between(0.5, 1)});
    }
}

// Calls f(goal, name) for the collectives to be counted.
template <class F>
void for_each_choice_goal(F&& f) {
    f(goal::allreduce{}, "allreduce");
    f(goal::reduce{}, "reduce");
    f(goal::broadcast{}, "broadcast");
    f(goal::reduce_scatter{}, "reduce_scatter");
    f(goal::allgather{}, "allgather");
}

} // namespace bough_benchmark

#endif
