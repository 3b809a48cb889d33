// SPDX-License-Identifier: BSL-1.0
// Arrival-aware trees against the best of all trees, and against what a simulated reduction takes.
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/arrival.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/postal.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace {

using bough::arrival_tree;
using bough::arrival_tree_time;
using bough::rank_t;
using times = std::vector<std::uint64_t>;

constexpr std::array<std::uint64_t, 5> one_late{0, 0, 0, 0, 1000};
static_assert(outline(arrival_tree(one_late, 10, 10)) == "4(0(3 2 1))");
static_assert(arrival_tree_time(one_late, 10, 10) == 1010); // by then the others have long been one value
static_assert(arrival_tree_time(one_late, 10, 10, 0) == 1020);
static_assert(arrival_tree(one_late, 10, 10, 0).root() == 0);

// The best of all trees: for each root and set of ranks, over the set of the child that is taken in last.
std::uint64_t best_of_all(const times& at, std::uint64_t latency, std::uint64_t gap, rank_t root) {
    const rank_t n = static_cast<rank_t>(at.size());
    constexpr std::uint64_t never = ~std::uint64_t{0};
    std::vector<std::vector<std::uint64_t>> best(1u << n, std::vector<std::uint64_t>(n, never));
    for (std::uint32_t set = 1; set != 1u << n; ++set)
        for (rank_t r = 0; r != n; ++r) {
            if ((set >> r & 1) == 0) continue;
            if (set == 1u << r) {
                best[set][r] = at[r];
                continue;
            }
            const std::uint32_t others = set & ~(1u << r);
            for (std::uint32_t below = others; below != 0; below = (below - 1) & others)
                for (rank_t c = 0; c != n; ++c)
                    if ((below >> c & 1) != 0)
                        best[set][r] =
                            std::min(best[set][r], std::max(best[set & ~below][r], best[below][c] + latency) + gap);
        }
    const auto& all = best[(1u << n) - 1];
    return root == bough::no_rank ? *std::min_element(all.begin(), all.end()) : all[root];
}

double simulated(const bough::table& tree, const times& at, std::uint64_t latency, std::uint64_t gap) {
    const bough::model::lrc model{.message_latency_ns = static_cast<double>(latency),
                                  .receive = {static_cast<double>(gap)}};
    bough::sim_options options;
    options.noise.arrival.how = bough::noise::coming::given;
    for (const std::uint64_t t : at) options.noise.arrival.at_ns.push_back(static_cast<double>(t));
    return bough::simulate(bough::plan_reduce(tree, {.size = tree.size(), .root = tree.root()}), model, options)
        .root_finish_ns;
}

} // namespace

TEST_CASE("arrival_tree: as good as the best of all trees where L is a multiple of g") {
    std::mt19937 random(11);
    int cases = 0, off = 0;
    double worst = 1;
    for (rank_t n = 1; n <= 6; ++n)
        for (int round = 0; round != 60; ++round) {
            const std::uint64_t gap = 1 + random() % 4, latency = random() % 13;
            times at;
            for (rank_t r = 0; r != n; ++r) at.push_back(random() % (round % 3 == 0 ? 10 : 40));
            for (const rank_t root : {bough::no_rank, static_cast<rank_t>(random() % n)}) {
                CAPTURE(n, round, gap, latency, root);
                const bough::table tree = arrival_tree(at, latency, gap, root);
                REQUIRE_FALSE(tree.check());
                const std::uint64_t best = best_of_all(at, latency, gap, root);
                const double taken = simulated(tree, at, latency, gap);
                REQUIRE(taken >= static_cast<double>(best));
                REQUIRE(taken <= static_cast<double>(arrival_tree_time(at, latency, gap, root)));
                ++cases;
                if (latency % gap == 0)
                    REQUIRE(taken == static_cast<double>(best));
                else if (taken > static_cast<double>(best)) {
                    ++off;
                    worst = std::max(worst, taken / static_cast<double>(best));
                }
            }
        }
    INFO("off in " << off << " of " << cases << ", worst " << worst);
    CHECK(off * 20 < cases);
    CHECK(worst < 1.25);
}

TEST_CASE("arrival_tree: when all come at once it is the optimal tree, and never worse than that tree later") {
    std::mt19937 random(5);
    for (rank_t n = 1; n <= 200; n += 13)
        for (const std::uint64_t latency : {0u, 4u, 12u, 40u}) {
            CAPTURE(n, latency);
            const times together(n, 0);
            REQUIRE(simulated(arrival_tree(together, latency, 4), together, latency, 4) ==
                    bough::postal_ns(n, static_cast<double>(latency), 4));
            times at;
            for (rank_t r = 0; r != n; ++r) at.push_back(random() % 300);
            const rank_t last = static_cast<rank_t>(std::max_element(at.begin(), at.end()) - at.begin());
            const double aware = simulated(arrival_tree(at, latency, 4), at, latency, 4);
            REQUIRE(aware <= simulated(bough::postal_tree(n, static_cast<double>(latency), 4, last), at, latency, 4));
            REQUIRE(aware >= static_cast<double>(at[last]) + (n > 1 ? 4 : 0));
        }
}
