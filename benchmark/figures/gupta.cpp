// SPDX-License-Identifier: BSL-1.0
// The figures of doc/papers/gupta.md: broadcast and degree-k allreduce over remote writes, by formula and by walk.
#include "csv.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/rdma_formula.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/degree_k.hpp>

#include <cstdint>
#include <string>

using bough::rank_t;

namespace {

constexpr bough::model::rdma network = bough::model::giganet_2003;

double broadcast_us(rank_t ranks, std::uint64_t bytes, std::uint64_t block) {
    return bough::model::broadcast_ns(network, ranks, bytes, block) / 1000;
}

// Without the broadcast and the copies.
double reduce_us(rank_t ranks, rank_t k, std::uint64_t bytes, bool worst) {
    bough::model::rdma n = network;
    n.worst = worst;
    return bough::model::degree_k_reduce_ns(n, ranks, k, bytes) / 1000;
}

double walked_reduce_us(rank_t ranks, rank_t k, std::uint64_t bytes, bool worst) {
    bough::model::rdma n = network;
    n.worst = worst;
    n.acknowledgement_ns = 0; // the paper's degree-k models have none
    const auto plan = bough::plan_reduce(bough::degree_k{.k = k}, {.size = ranks});
    return bough::model::walk(plan, n, bytes).makespan_ns / 1000;
}

// Figures 23 and 24: block sizes on 16 nodes; 25 to 27: 16, 512, 1024 nodes.
void broadcasts(const std::string& to) {
    figures::csv blocks(to, "gupta_blocks", "bytes,block_1024_us,block_2048_us,block_3072_us,block_4096_us");
    for (std::uint64_t bytes = 128; bytes <= 5120; bytes += 128)
        blocks.row(bytes, broadcast_us(16, bytes, 1024), broadcast_us(16, bytes, 2048), broadcast_us(16, bytes, 3072),
                   broadcast_us(16, bytes, 4096));
    figures::csv curves(to, "gupta_broadcast", "ranks,bytes,formula_us,walk_us");
    for (const rank_t ranks : {16u, 512u, 1024u})
        for (std::uint64_t bytes = 4; bytes <= 4096; bytes *= 2) {
            const double formula = broadcast_us(ranks, bytes, 4096);
            const auto plan = bough::plan_broadcast(bough::binomial{}, {.size = ranks});
            const double walk =
                (bough::model::walk(plan, network, bytes).makespan_ns + network.copies_ns(bytes)) / 1000;
            curves.row(ranks, bytes, formula, walk);
        }
}

// Figures 28 to 35: bands of 16 nodes. Broadcast and copies are the same for every k.
void bands(const std::string& to) {
    figures::csv out(to, "gupta_bands", "k,bytes,best_us,worst_us,walk_best_us,walk_worst_us");
    for (const rank_t k : {1u, 3u, 7u, 15u})
        for (std::uint64_t bytes = 4; bytes <= 4096; bytes *= 2) {
            const double rest = broadcast_us(16, bytes, 4096);
            out.row(k, bytes, rest + reduce_us(16, k, bytes, false), rest + reduce_us(16, k, bytes, true),
                    rest + walked_reduce_us(16, k, bytes, false), rest + walked_reduce_us(16, k, bytes, true));
        }
}

// Figure 40: the best k. Of the best case, of the worst case, and of the middle between.
void best_k(const std::string& to) {
    figures::csv out(to, "gupta_best_k",
                     "ranks,bytes,best_case,middle,worst_case,walk_best_case,walk_middle,walk_worst_case");
    for (rank_t ranks = 4; ranks <= 1024; ranks *= 2)
        for (std::uint64_t bytes = 4; bytes <= 4096; bytes *= 2) {
            const auto best = [&](const auto& price_of) { return bough::model::best_degree_by(ranks, price_of); };
            const auto formula = [&](bool worst) {
                return [=](rank_t k) { return reduce_us(ranks, k, bytes, worst); };
            };
            const auto walk = [&](bool worst) {
                return [=](rank_t k) { return walked_reduce_us(ranks, k, bytes, worst); };
            };
            const auto middle = [](const auto& of) { return [=](rank_t k) { return of(false)(k) + of(true)(k); }; };
            out.row(ranks, bytes, best(formula(false)), best(middle(formula)), best(formula(true)), best(walk(false)),
                    best(middle(walk)), best(walk(true)));
        }
}

} // namespace

int main(int count, char** arguments) {
    const std::string to = figures::directory(count, arguments);
    broadcasts(to);
    bands(to);
    best_k(to);
}
