// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/tree/chain.hpp>
#include <bough/tree/depth.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/table.hpp>
#include <bough/tree/tree.hpp>

using namespace bough;

static_assert(TreeShape<kary>);
static_assert(outline(tree{kary{}, 7}) == "0(2(6 5) 1(4 3))");
static_assert(outline(tree{kary{.arity = 3}, 6}) == "0(3 2 1(5 4))");
static_assert(kary{.arity = 0}.check().code == errc::invalid_argument);
static_assert(kary{.arity = 1}.rank_ordered() && !kary{.arity = 2}.rank_ordered());
static_assert(kary{.arity = 0xffff'ffffu}.child_count(1, 0xffff'fffeu) == 0);
static_assert(kary{.arity = 2}.child_count(0x7fff'fffeu, 0xffff'fffeu) == 1);
static_assert(kary{.arity = 2}.child_count(0x7fff'ffffu, 0xffff'fffeu) == 0);
static_assert(kary{.arity = 2}.child_count(0x7fff'fffdu, 0xffff'fffeu) == 2);

TEST_CASE("kary 1 is the chain") {
    for (rank_t n = 1; n <= 40; ++n) REQUIRE(table(tree{kary{.arity = 1}, n}) == table(tree{chain{}, n}));
}

TEST_CASE("kary: level by level") {
    // The smallest size with each depth: 1 + k + k^2 + ... ranks fill the levels above.
    REQUIRE(depth(tree{kary{.arity = 3}, 4}) == 1);
    REQUIRE(depth(tree{kary{.arity = 3}, 5}) == 2);
    REQUIRE(depth(tree{kary{.arity = 3}, 13}) == 2);
    REQUIRE(depth(tree{kary{.arity = 3}, 14}) == 3);
}
