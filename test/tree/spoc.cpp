// SPDX-License-Identifier: BSL-1.0
// Spoc_tree: Fig. 1, both orientations, its bound, and the places of fast ranks.
#include "support/catch.hpp"
#include "tree/heterogeneous.hpp"
#include <bough/tree/outline.hpp>
#include <bough/tree/spoc.hpp>
#include <bough/tree/tree.hpp>

#include <span>
#include <vector>

using namespace bough;

// Fig. 1 (b).
static_assert(broadcast_time(spoc_tree(std::span(test::figure_1)), std::span(test::figure_1)) == 500);
static_assert(broadcast_time(spoc_tree(std::span(test::figure_1), 0, orientation::high), std::span(test::figure_1)) ==
              500);
static_assert(spoc_bound(std::span(test::figure_1)) == 500);
static_assert(outline(spoc_tree(std::span(test::figure_1))) == "0(3 1(4) 5(6 2(7)))");
static_assert(outline(spoc_tree(std::span(test::figure_1), 3)) == "3(2 5(4) 0(6 1(7)))");

TEST_CASE("spoc: equal costs give the binomial tree") {
    for (rank_t n = 1; n != 70; ++n) {
        const std::vector<int> ones(n, 1);
        for (const auto o : {orientation::low, orientation::high}) {
            const table t = spoc_tree(std::span(ones), n / 3, o);
            REQUIRE(test::is_tree(t, n, n / 3));
            REQUIRE(broadcast_time(t, std::span(ones)) == broadcast_time(tree{binomial{o}, n}, std::span(ones)));
        }
    }
}

TEST_CASE("spoc: never above formula (1), and below the binomial tree's share") {
    test::cost_source random(bough_test::seed());
    for (int i = 0; i != (bough_test::all() ? 20000 : 1500); ++i) {
        const rank_t n = 1 + random.below(i % 10 == 0 ? 300 : 40);
        const rank_t root = random.below(n);
        const auto costs = random.costs(n, 1, 2 + random.below(50));
        for (const auto o : {orientation::low, orientation::high}) {
            INFO("case " << i << ", n " << n);
            const table t = spoc_tree(std::span(costs), root, o);
            REQUIRE(test::is_tree(t, n, root));
            REQUIRE(broadcast_time(t, std::span(costs)) <= spoc_bound(std::span(costs), root));
            // A rank with more descendants than another is not slower, roots aside.
            std::vector<rank_t> below(n, 0);
            for (rank_t r = 0; r != n; ++r)
                for (rank_t a = t.parent(r); a != no_rank; a = t.parent(a)) ++below[a];
            for (rank_t a = 0; a != n; ++a)
                for (rank_t b = 0; b != n && n < 41; ++b)
                    if (a != root && b != root && below[a] > below[b]) REQUIRE(costs[a] <= costs[b]);
        }
    }
}
