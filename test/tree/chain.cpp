// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/tree/chain.hpp>
#include <bough/tree/depth.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <string>

using namespace bough;

static_assert(TreeShape<chain>);
static_assert(outline(tree{chain{}, 1}) == "0");
static_assert(outline(tree{chain{}, 4}) == "0(1(2(3)))");
static_assert(outline(tree{chain{}, 4, 2}) == "2(3(0(1)))");

TEST_CASE("chain: a long one neither overflows the stack nor loses a parenthesis") {
    const rank_t n = 100'000;
    const std::string text = outline(tree{chain{}, n}).str();
    REQUIRE(text.substr(0, 8) == "0(1(2(3(");
    REQUIRE(text.substr(text.size() - n + 1) == std::string(n - 1, ')'));
    REQUIRE(depth(tree{chain{}, n}) == n - 1);
}
