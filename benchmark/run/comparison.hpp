// SPDX-License-Identifier: BSL-1.0
// An allreduce of every algorithm that bough has, priced in the paper's model: what the comparison prints and its test asserts.
#ifndef BOUGH_BENCHMARK_COMPARISON_HPP
#define BOUGH_BENCHMARK_COMPARISON_HPP

#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/best_levels.hpp>
#include <bough/algorithm/binary_blocks.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma_formula.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/binomial.hpp>

#include <array>
#include <cstdint>

namespace comparison {

// 5 us a message, 1 GB/s, 4 GB/s of results; full duplex.
inline constexpr bough::model::alpha_beta_gamma network{
    .alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
inline constexpr std::array<bough::rank_t, 10> ranks{3, 7, 13, 15, 24, 33, 48, 100, 127, 540};
inline constexpr std::array<std::uint64_t, 9> sizes{8, 64, 1024, 8192, 65536, 1 << 18, 1 << 20, 8 << 20, 64 << 20};

struct priced {
    const char* name = "";
    double ns = 0;
};
constexpr const priced& faster(const priced& a, const priced& b) { return b.ns < a.ns ? b : a; }

// Vectors of doubles.
struct allreduces {
    // The paper's five.
    priced tree, recursive_doubling, halving_doubling, binary_blocks, ring;
    // Newer ones.
    priced per_level, circulant;

    const priced& paper() const {
        return faster(faster(faster(tree, recursive_doubling), halving_doubling), faster(binary_blocks, ring));
    }
    // Those that keep rank order: for any associative op.
    const priced& rank_ordered() const {
        return faster(faster(faster(per_level, recursive_doubling), halving_doubling), faster(binary_blocks, tree));
    }
    // For commutative ops: all.
    const priced& any() const { return faster(faster(rank_ordered(), circulant), ring); }
};

// As the paper means it: a message begins when both its ranks are at it.
inline allreduces price(bough::rank_t p, std::uint64_t bytes, const bough::model::alpha_beta_gamma& on = network) {
    const bough::dimensions at{.size = p};
    const auto walked = [&](const auto& choice) {
        return bough::model::walk(bough::plan_allreduce(choice, at), bough::model::rendezvous{on}, bytes, 8)
            .makespan_ns;
    };
    const bough::level_costs costs{on.alpha_ns, on.beta_ns_per_byte, on.gamma_ns_per_byte};
    const auto levels = bough::best_levels(p, costs, static_cast<double>(bytes));
    return {{"tree", walked(bough::binomial{})}, // the incumbent's choice: reduce, then broadcast
            {"recursive doubling", walked(bough::recursive_doubling{})},
            {"halving + doubling", walked(bough::halving_doubling{})},
            {"binary blocks", walked(bough::binary_blocks{})},
            {"ring", bough::model::ring_allreduce_ns(on, p, bytes)}, // its walk, without p^2 messages
            {"per level", walked(bough::per_level{.levels = levels})},
            {"circulant", walked(bough::circulant{})}};
}

} // namespace comparison

#endif
