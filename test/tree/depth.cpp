// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/shapes.hpp"
#include <bough/testing/tree_archetype.hpp>
#include <bough/tree/depth.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>

using namespace bough;
using bough::testing::make_archetype;
using bough::testing::tree_archetype;

static_assert(depth(tree{fnomial{.degree = 3}, 9}) == 2);
static_assert(depth(tree{flat{}, 1}) == 0 && depth(tree{flat{}, 2}) == 1);
static_assert(depth(tree{chain{}, 7, 3}) == 6);
static_assert(depth(tree{binomial{}, 13}) == 3); // 11 = 1011b has three bits
static_assert(depth(tree_archetype{make_archetype{}, 3}) == 1);

TEST_CASE("depth is the longest way up") {
    test::for_each_shape([](const char* name, auto shape) {
        for (rank_t n = 1; n <= 70; ++n) {
            rank_t longest = 0;
            for (rank_t v = 0; v != n; ++v) {
                rank_t up = 0;
                for (rank_t at = v; at != 0; at = shape.parent(at, n)) ++up;
                longest = std::max(longest, up);
            }
            INFO(name << " n " << n);
            REQUIRE(depth(tree{shape, n, n / 3}) == longest);
        }
    });
}
