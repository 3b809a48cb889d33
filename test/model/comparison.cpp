// SPDX-License-Identifier: BSL-1.0
// The comparison that benchmark/run/comparison prints: bough's allreduces against the paper's five, in the paper's model.
#include "../../benchmark/run/comparison.hpp"

#include "support/catch.hpp"

#include <algorithm>

namespace {

using comparison::network;

// The faster of the paper's two for long vectors, by its own formulas.
double long_vectors_ns(bough::rank_t p, std::uint64_t bytes) {
    return std::min(bough::model::halving_doubling_allreduce_ns(network, p, bytes),
                    bough::model::ring_allreduce_ns(network, p, bytes));
}

} // namespace

TEST_CASE("against halving + doubling and ring: the factors of the table in doc/algorithms/alpha_beta_gamma.md") {
    struct line {
        bough::rank_t p;
        std::uint64_t bytes;
        double any, rank_ordered;
    };
    constexpr double rounding = 0.005;
    for (const line& l : {line{15, 8192, 1.37, 1.12}, line{24, 8192, 1.33, 1.33}, line{48, 1 << 20, 1.17, 1.17},
                          line{127, 1 << 20, 1.49, 1.00}, line{540, 1 << 20, 1.91, 1.89}}) {
        const comparison::allreduces all = comparison::price(l.p, l.bytes);
        const double baseline = long_vectors_ns(l.p, l.bytes);
        CAPTURE(l.p, l.bytes, baseline, all.any().ns, all.rank_ordered().ns);
        CHECK(baseline / all.any().ns >= l.any - rounding);
        CHECK(baseline / all.rank_ordered().ns >= l.rank_ordered - rounding);
    }
}

TEST_CASE("per level is never slower than the other four in rank order; all of them than any") {
    for (const bough::rank_t p : comparison::ranks)
        for (const std::uint64_t bytes : comparison::sizes) {
            const comparison::allreduces all = comparison::price(p, bytes);
            CAPTURE(p, bytes, all.per_level.ns, all.binary_blocks.ns, all.paper().name);
            const double margin = 1 + 1e-9;
            CHECK(all.per_level.ns <= all.tree.ns * margin);
            CHECK(all.per_level.ns <= all.recursive_doubling.ns * margin);
            CHECK(all.per_level.ns <= all.halving_doubling.ns * margin);
            CHECK(all.per_level.ns <= all.binary_blocks.ns * margin); // since a message needs both its ranks
            CHECK(all.any().ns <= all.paper().ns * margin);
        }
}

TEST_CASE("the ring's formula, which stands for its walk in the comparison, is that") {
    for (const bough::rank_t p : {3u, 24u, 127u}) {
        const std::uint64_t bytes = std::uint64_t{p} * 4096;
        CHECK(bough::model::walk(bough::plan_allreduce(bough::ring{}, {.size = p}), network, bytes, 8).makespan_ns ==
              Approx(comparison::price(p, bytes).ring.ns));
    }
}
