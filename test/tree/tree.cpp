// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/shapes.hpp"
#include <bough/testing/tree_archetype.hpp>
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <cstdint>
#include <string>

using namespace bough;
using bough::testing::check_rank_order;
using bough::testing::check_shape;
using bough::testing::check_tree;
using bough::testing::tree_fault;

static_assert(Tree<tree<fnomial>>);
static_assert(tree{fnomial{.degree = 3}, 9} == tree{fnomial{.degree = 3}, 9, 0});
static_assert(tree{fnomial{.degree = 3}, 9} != tree{fnomial{.degree = 3}, 9, 1});
static_assert(tree{fnomial{}, 9, 5}.size() == 9 && tree{fnomial{}, 9, 5}.root() == 5);
static_assert(tree{fnomial{}, 9, 5}.parent(5) == no_rank);
static_assert(outline(tree{fnomial{.degree = 3}, 9, 5}) == "5(6 7 8(0 1) 2(3 4))");
static_assert(tree{fnomial{}, 9}.rank_ordered() && !tree{fnomial{}, 9, 5}.rank_ordered());
static_assert(!tree{kary{}, 9}.rank_ordered());

// A shape that says nothing about rank order is taken at its silence.
static_assert(!tree{bough::testing::tree_shape_archetype{bough::testing::make_archetype{}}, 9}.rank_ordered());

TEST_CASE("every shape keeps the laws at every size to 300") {
    test::for_each_shape([](const char* name, auto shape) {
        for (rank_t n = 1; n <= 300; ++n) {
            INFO(name << " n " << n);
            REQUIRE(check_shape(shape, n) == tree_fault{});
        }
    });
}

TEST_CASE("every shape keeps the laws with every root, to 40 ranks") {
    test::for_each_shape([](const char* name, auto shape) {
        for (rank_t n = 1; n <= 40; ++n) {
            for (rank_t root = 0; root != n; ++root) {
                INFO(name << " n " << n << " root " << root);
                const tree t{shape, n, root};
                REQUIRE(check_tree(t) == tree_fault{});
                REQUIRE(t.parent(root) == no_rank);
                // Relabelling commutes with every query.
                for (rank_t v = 1; v != n; ++v) REQUIRE(t.parent((v + root) % n) == (shape.parent(v, n) + root) % n);
            }
        }
    });
}

TEST_CASE("a shape is rank-ordered exactly when it says so") {
    test::for_each_shape([](const char* name, auto shape) {
        bool always = true;
        for (rank_t n = 1; n <= 60; ++n) always = always && check_rank_order(tree{shape, n}) == tree_fault{};
        INFO(name);
        REQUIRE(always == shape.rank_ordered());
    });
}

TEST_CASE("every shape keeps the laws at 2^20 and one less and more") {
    test::for_each_shape([](const char* name, auto shape) {
        for (rank_t n : {(1u << 20) - 1, 1u << 20, (1u << 20) + 1}) {
            INFO(name << " n " << n);
            REQUIRE(check_shape(shape, n) == tree_fault{});
        }
    });
}

TEST_CASE("every shape at 10^9 and at the largest size: parent and child are inverse wherever one looks") {
    test::for_each_shape([](const char* name, auto shape) {
        for (rank_t n : {1'000'000'000u, 0xffff'fffeu}) {
            for (rank_t root : {0u, 1u, 999'999'999u}) {
                const tree t{shape, n, root};
                std::uint32_t random = 1;
                for (int sample = 0; sample != 500; ++sample) {
                    random = random * 1'664'525u + 1'013'904'223u;
                    const rank_t r = sample < 10 ? (root + static_cast<rank_t>(sample)) % n : random % n;
                    INFO(name << " n " << n << " root " << root << " rank " << r);
                    const rank_t children = t.child_count(r);
                    const rank_t looks = children < 64 ? children : 64;
                    for (rank_t i = 0; i != looks; ++i) {
                        const rank_t child = t.child(r, children < 64 || i < 32 ? i : children - 64 + i);
                        REQUIRE(child < n);
                        REQUIRE(t.parent(child) == r);
                    }
                    const rank_t parent = t.parent(r);
                    REQUIRE((parent < n) == (r != root));
                    if (r == root || t.child_count(parent) > 1000) continue;
                    int listed = 0;
                    for (rank_t i = 0; i != t.child_count(parent); ++i) listed += t.child(parent, i) == r;
                    REQUIRE(listed == 1);
                }
            }
        }
    });
}
