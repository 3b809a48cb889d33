// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/testing/tree_archetype.hpp>
#include <bough/testing/tree_laws.hpp>

#include <vector>

using namespace bough;
using namespace bough::testing;

namespace {

// A tree that answers whatever it is told: the laws must find what is wrong with it.
struct lies {
    rank_t ranks = 0;
    rank_t top = 0;
    std::vector<rank_t> parents;
    std::vector<std::vector<rank_t>> children;

    constexpr rank_t size() const { return ranks; }
    constexpr rank_t root() const { return top; }
    constexpr rank_t parent(rank_t r) const { return parents[r]; }
    constexpr rank_t child_count(rank_t r) const { return static_cast<rank_t>(children[r].size()); }
    constexpr rank_t child(rank_t r, rank_t i) const { return children[r][i]; }
};

struct bad_parameter : tree_shape_archetype {
    using tree_shape_archetype::tree_shape_archetype;
    constexpr status check() const { return invalid_argument("shape: never good"); }
};

struct boaster : tree_shape_archetype { // receives its children in descending order, so not in rank order
    using tree_shape_archetype::tree_shape_archetype;
    constexpr bool rank_ordered() const { return true; }
};

const rank_t none = no_rank;

} // namespace

static_assert(check_tree(tree_archetype{make_archetype{}, 5}) == tree_fault{});
static_assert(check_shape(tree_shape_archetype{make_archetype{}}, 5) == tree_fault{});

TEST_CASE("tree laws: every law can be broken, and is then named with the rank") {
    REQUIRE(check_tree(lies{3, 0, {none, 0, 1}, {{1}, {2}, {}}}) == tree_fault{});
    REQUIRE(check_tree(lies{0, 0, {}, {}}) == tree_fault{tree_law::at_least_one_rank, none});
    REQUIRE(check_tree(lies{1, 1, {none}, {{}}}) == tree_fault{tree_law::root_in_range, 1});
    REQUIRE(check_tree(lies{2, 0, {1, 0}, {{1}, {0}}}) == tree_fault{tree_law::root_has_no_parent, 0});
    REQUIRE(check_tree(lies{2, 0, {none, 2}, {{}, {}}}) == tree_fault{tree_law::parent_in_range, 1});
    REQUIRE(check_tree(lies{2, 0, {none, 1}, {{}, {}}}) == tree_fault{tree_law::parent_in_range, 1});
    REQUIRE(check_tree(lies{2, 0, {none, none}, {{}, {}}}) == tree_fault{tree_law::parent_in_range, 1});
    REQUIRE(check_tree(lies{2, 0, {none, 0}, {{2}, {}}}) == tree_fault{tree_law::child_in_range, 0});
    REQUIRE(check_tree(lies{3, 0, {none, 0, 1}, {{1, 2}, {}, {}}}) == tree_fault{tree_law::child_knows_parent, 2});
    REQUIRE(check_tree(lies{2, 0, {none, 0}, {{1, 1}, {}}}) == tree_fault{tree_law::child_once, 1});
    REQUIRE(check_tree(lies{3, 0, {none, 0, 0}, {{1}, {}, {}}}) == tree_fault{tree_law::parent_knows_child, 2});
    REQUIRE(check_tree(lies{4, 0, {none, 0, 3, 2}, {{1}, {}, {3}, {2}}}).law == tree_law::reaches_root);
}

TEST_CASE("tree laws: rank order") {
    const lies ascending{4, 0, {none, 0, 0, 2}, {{2, 1}, {}, {3}, {}}};
    const lies descending{4, 0, {none, 0, 0, 2}, {{1, 2}, {}, {3}, {}}};
    const lies both_sides{3, 1, {1, none, 1}, {{}, {0, 2}, {}}};
    REQUIRE(check_rank_order(ascending) == tree_fault{});
    REQUIRE(check_rank_order(descending) == tree_fault{tree_law::children_are_adjacent, 2});
    REQUIRE(check_rank_order(both_sides) == tree_fault{tree_law::children_are_adjacent, 0});
    REQUIRE(check_rank_order(both_sides, true) == tree_fault{});
}

TEST_CASE("tree laws: a shape's parameters and its claim about rank order") {
    REQUIRE(check_shape(bad_parameter{make_archetype{}}, 5) == tree_fault{tree_law::valid_parameters, none});
    REQUIRE(check_shape(boaster{make_archetype{}}, 5).law == tree_law::children_are_adjacent);
    REQUIRE(check_shape(boaster{make_archetype{}}, 2) == tree_fault{});
}
