// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/tree/degree_k.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

using namespace bough;

static_assert(TreeShape<degree_k>);
static_assert(outline(tree{degree_k{.k = 3}, 6}) == "0(1 2 3 4(5))");
static_assert(outline(tree{degree_k{.k = 1}, 4}) == "0(1 2(3))"); // the paper's figures for 4 ranks
static_assert(outline(tree{degree_k{.k = 3}, 4}) == "0(1 2 3)");
static_assert(degree_k{.k = 0}.check().code == errc::invalid_argument);
static_assert(!degree_k{.k = 1}.check());
static_assert(degree_k{.k = 0xffff'ffffu}.child_count(0, 0xffff'fffeu) == 0xffff'fffdu); // k + 1 does not wrap

TEST_CASE("degree_k{k} is fnomial{k + 1}") {
    for (rank_t k = 1; k <= 9; ++k) {
        const degree_k mine{.k = k};
        const fnomial same{.degree = k + 1};
        for (rank_t n = 1; n <= 120; ++n) {
            for (rank_t v = 0; v != n; ++v) {
                REQUIRE(mine.parent(v, n) == same.parent(v, n));
                REQUIRE(mine.child_count(v, n) == same.child_count(v, n));
                for (rank_t i = 0; i != mine.child_count(v, n); ++i)
                    REQUIRE(mine.child(v, n, i) == same.child(v, n, i));
            }
        }
    }
}
