// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/shapes.hpp"
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/table.hpp>
#include <bough/tree/tree.hpp>

#include <array>
#include <string>
#include <vector>

using namespace bough;
using bough::testing::check_tree;
using bough::testing::tree_fault;

static_assert(Tree<table>);
static_assert(outline(table{tree{fnomial{.degree = 3}, 9}}) == "0(1 2 3(4 5) 6(7 8))");
static_assert(!table{tree{fnomial{.degree = 3}, 9, 4}}.check());
static_assert(outline(table{3, 1, std::array{tree_edge{1, 0}, tree_edge{1, 2}}}) == "1(2 0)");
static_assert(table{1, 0, {}}.child_count(0) == 0 && !table{1, 0, {}}.check());

namespace {

// "sentence (rank)"
std::string complaint(const std::string& about, rank_t rank) { return about + " (" + std::to_string(rank) + ")"; }
std::string complaint_of(const table& t) {
    const status s = t.check();
    return complaint(s.argument ? s.argument : "", s.peer);
}
std::string about(const table& t) {
    const status s = t.check();
    return s.argument ? s.argument : "";
}

using edges = std::vector<tree_edge>;

} // namespace

TEST_CASE("table: a copy of any tree answers as the tree does") {
    test::for_each_shape([](const char* name, auto shape) {
        for (rank_t n : {1u, 2u, 3u, 7u, 13u, 40u}) {
            for (rank_t root : {rank_t{0}, n / 2, n - 1}) {
                INFO(name << " n " << n << " root " << root);
                const tree t{shape, n, root};
                const table copy{t};
                REQUIRE_FALSE(copy.check());
                REQUIRE(check_tree(copy) == tree_fault{});
                REQUIRE(copy.size() == n);
                REQUIRE(copy.root() == root);
                for (rank_t r = 0; r != n; ++r) {
                    REQUIRE(copy.parent(r) == t.parent(r));
                    REQUIRE(copy.child_count(r) == t.child_count(r));
                    for (rank_t i = 0; i != t.child_count(r); ++i) REQUIRE(copy.child(r, i) == t.child(r, i));
                }
                REQUIRE(table(copy) == copy);
            }
        }
    });
}

TEST_CASE("table: from parents and an order") {
    const std::vector<rank_t> parents{2, 2, no_rank, 0, 0};
    REQUIRE(outline(table::from_parents(parents)) == "2(1 0(4 3))");
    REQUIRE(outline(table::from_parents(parents, std::vector<rank_t>{4, 1, 0, 2, 3})) == "2(0(3 4) 1)");
    REQUIRE(table::from_parents(parents) == table(5, 2, edges{{2, 0}, {2, 1}, {0, 3}, {0, 4}}));
    REQUIRE(table::from_parents(parents) != table(5, 2, edges{{2, 1}, {2, 0}, {0, 3}, {0, 4}}));
    // Parents and children in send order lose nothing: a tree comes back from them.
    const in_order t{fnomial{.degree = 3}, 20, 7};
    std::vector<rank_t> up, order;
    for (rank_t r = 0; r != 20; ++r) {
        up.push_back(t.parent(r));
        for (rank_t i = 0; i != t.child_count(r); ++i) order.push_back(t.child(r, i));
    }
    REQUIRE(table::from_parents(up, order) == table(t));
}

TEST_CASE("table: children is the send order") {
    const table t{4, 0, edges{{0, 3}, {0, 1}, {3, 2}}};
    REQUIRE(t.children(0).size() == 2);
    REQUIRE(t.children(0)[0] == 3);
    REQUIRE(t.children(0)[1] == 1);
    REQUIRE(t.children(2).empty());
}

TEST_CASE("table: what is not a tree is named, with the rank") {
    const std::string second = "edges: a rank is the child of two parents, or listed twice";
    const std::string top = "edges: a rank other than the root has no parent";
    const std::string out = "edges: a parent or child is not one of the ranks";
    const std::string no_root = "root: not one of the ranks, or every rank has a parent";
    const std::string cycle = "edges: a rank is its own ancestor";

    REQUIRE(complaint_of(table(0, 0, {})) == complaint("size: a tree needs at least one rank", no_rank));
    REQUIRE(complaint_of(table(3, 3, edges{{0, 1}, {0, 2}})) == complaint(no_root, 3));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}, {0, 3}})) == complaint(out, 3));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}, {7, 2}})) == complaint(out, 2));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}, {no_rank, 2}})) == complaint(out, 2));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}, {0, 2}, {1, 2}})) == complaint(second, 2));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}, {0, 1}, {0, 2}})) == complaint(second, 1));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}, {0, 2}, {2, 0}})) ==
            complaint("edges: the root is somebody's child", 2));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}})) == complaint(top, 2));
    REQUIRE(complaint_of(table(4, 0, edges{{0, 1}, {2, 3}})) == complaint(top, 2));
    REQUIRE(complaint_of(table(3, 0, edges{{0, 1}, {2, 2}})) == complaint(cycle, 2));
    REQUIRE(about(table(6, 0, edges{{0, 1}, {2, 3}, {3, 4}, {4, 3}})) == second);
    const status loop = table(6, 0, edges{{0, 1}, {4, 3}, {3, 4}, {4, 2}, {2, 5}}).check();
    REQUIRE(loop.argument == cycle);
    REQUIRE((loop.peer == 3 || loop.peer == 4)); // on the cycle, not on what hangs from it

    REQUIRE(about(table::from_parents({})) == "size: a tree needs at least one rank");
    REQUIRE(about(table::from_parents(std::vector<rank_t>{1, 0})) == no_root);
    REQUIRE(complaint_of(table::from_parents(std::vector<rank_t>{no_rank, no_rank})) == complaint(top, 1));
    REQUIRE(complaint_of(table::from_parents(std::vector<rank_t>{no_rank, 5})) == complaint(out, 1));
    REQUIRE(complaint_of(table::from_parents(std::vector<rank_t>{no_rank, 1})) == complaint(cycle, 1));
    REQUIRE(complaint_of(table::from_parents(std::vector<rank_t>{no_rank, 0, 0}, std::vector<rank_t>{2})) ==
            complaint(top, 1));
    REQUIRE(complaint_of(table::from_parents(std::vector<rank_t>{no_rank, 0}, std::vector<rank_t>{1, 1})) ==
            complaint(second, 1));
    REQUIRE(complaint_of(table::from_parents(std::vector<rank_t>{no_rank, 0}, std::vector<rank_t>{1, 9})) ==
            complaint(out, 9));
}

TEST_CASE("table: reading a table that is not a tree is safe") {
    const table t{3, 9, edges{{0, 1}, {1, 0}, {8, 8}, {0, 1}}};
    REQUIRE(t.check());
    for (rank_t r = 0; r != t.size(); ++r) {
        for (rank_t i = 0; i != t.child_count(r); ++i) REQUIRE(t.child(r, i) < t.size());
        REQUIRE((t.parent(r) == no_rank || t.parent(r) < t.size()));
    }
}
