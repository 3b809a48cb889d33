// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/shapes.hpp"
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/depth.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <string>

using namespace bough;
using bough::testing::check_rank_order;
using bough::testing::check_tree;
using bough::testing::tree_fault;

static_assert(Tree<in_order<fnomial>>);
static_assert(outline(in_order{binomial{}, 7, 3}) == "3(2 4 1(0) 5(6))");
static_assert(outline(in_order{fnomial{.degree = 3}, 13, 4}) == "4(3 5 2 6 1(0) 7(8 9) 10(11 12))");
static_assert(outline(in_order{flat{}, 6, 4}) == "4(3 5 2 1 0)");
static_assert(outline(in_order{chain{}, 6, 2}) == "2(1(0) 3(4(5)))");
static_assert(outline(in_order{binomial{}, 1}) == "0");
static_assert(in_order{binomial{}, 7, 3}.lower_side(3, 2) && !in_order{binomial{}, 7, 3}.lower_side(3, 4));
static_assert(in_order{binomial{}, 7}.rank_ordered() && !in_order{binomial{}, 7, 3}.rank_ordered());

namespace {

// What a reduction would hold at the end if the op were concatenation.
template <class T>
std::string concatenate(const T& tree, rank_t r) {
    std::string own(1, static_cast<char>('A' + r));
    for (rank_t i = tree.child_count(r); i-- != 0;) {
        const rank_t child = tree.child(r, i);
        const std::string theirs = concatenate(tree, child);
        own = tree.lower_side(r, child) ? theirs + own : own + theirs;
    }
    return own;
}

template <class F>
void for_each_ordered_shape(F f) {
    test::for_each_shape([&](const char* name, auto shape) {
        if (shape.rank_ordered()) f(name, shape);
    });
}

} // namespace

TEST_CASE("in_order keeps the laws and true rank order with every root, to 64 ranks") {
    for_each_ordered_shape([](const char* name, auto shape) {
        std::string expected;
        for (rank_t n = 1; n <= 64; ++n) {
            expected += static_cast<char>('A' + n - 1);
            for (rank_t root = 0; root != n; ++root) {
                INFO(name << " n " << n << " root " << root);
                const in_order t{shape, n, root};
                REQUIRE(check_tree(t) == tree_fault{});
                REQUIRE(check_rank_order(t, true) == tree_fault{});
                REQUIRE((check_rank_order(t) == tree_fault{}) == (root == 0 || n == 1));
                REQUIRE(concatenate(t, root) == expected);
            }
        }
    });
}

TEST_CASE("in_order: with root 0 it is the shape itself; with the last rank as root, its mirror") {
    for_each_ordered_shape([](const char* name, auto shape) {
        for (rank_t n = 1; n <= 40; ++n) {
            INFO(name << " n " << n);
            REQUIRE(table(in_order{shape, n, 0}) == table(tree{shape, n}));
            const in_order mirrored{shape, n, n - 1};
            for (rank_t r = 0; r + 1 != n; ++r) REQUIRE(mirrored.parent(r) == n - 1 - tree{shape, n}.parent(n - 1 - r));
        }
    });
}

TEST_CASE("in_order: never deeper than the relabelled tree") {
    for_each_ordered_shape([](const char* name, auto shape) {
        for (rank_t n = 1; n <= 40; ++n) {
            for (rank_t root = 0; root != n; ++root) {
                INFO(name << " n " << n << " root " << root);
                REQUIRE(depth(in_order{shape, n, root}) <= depth(tree{shape, n, root}));
            }
        }
    });
}

TEST_CASE("in_order at large sizes") {
    for_each_ordered_shape([](const char* name, auto shape) {
        INFO(name);
        REQUIRE(check_tree(in_order{shape, 1u << 20, 333'333}) == tree_fault{});
        REQUIRE(check_rank_order(in_order{shape, 1u << 20, 333'333}, true) == tree_fault{});
        for (rank_t root : {0u, 1u, 1u << 31, 0xffff'fffdu}) {
            const in_order t{shape, 0xffff'fffeu, root};
            const rank_t looks = std::min(t.child_count(root), rank_t{100});
            for (rank_t i = 0; i != looks; ++i) REQUIRE(t.parent(t.child(root, i)) == root);
            for (rank_t r : {0u, 12'345u, 1u << 31, (1u << 31) + 1, 0xffff'fffcu, 0xffff'fffdu})
                REQUIRE((t.parent(r) == no_rank) == (r == root));
        }
    });
}
