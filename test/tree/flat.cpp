// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/table.hpp>
#include <bough/tree/tree.hpp>

using namespace bough;

static_assert(TreeShape<flat>);
static_assert(outline(tree{flat{}, 1}) == "0");
static_assert(outline(tree{flat{}, 5}) == "0(1 2 3 4)");
static_assert(outline(tree{flat{}, 5, 3}) == "3(4 0 1 2)");

TEST_CASE("flat is fnomial of a degree of n or more") {
    for (rank_t n = 2; n <= 40; ++n) {
        REQUIRE(table(tree{flat{}, n}) == table(tree{fnomial{.degree = n}, n}));
        REQUIRE(table(tree{flat{}, n}) == table(tree{fnomial{.degree = 5 * n}, n}));
    }
}
