// SPDX-License-Identifier: BSL-1.0
// The laws of Tree and TreeShape, as code: run them over your own shape at every size that matters
// to you.
//
//   static_assert(bough::testing::lawful<bough::testing::check_tree(my_tree)>());
//   static_assert(bough::testing::lawful<bough::testing::check_shape(my_shape, 13)>());
//
// Time O(size + number of children asked for), memory O(size). The report names one law and one
// rank.
#ifndef BOUGH_TESTING_TREE_LAWS_HPP
#define BOUGH_TESTING_TREE_LAWS_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/rank_order.hpp>
#include <bough/tree/tree.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

// The laws.
enum class tree_law : std::uint8_t {
    none,               // all laws hold
    valid_parameters,   // a shape's check() is ok
    at_least_one_rank,  // size() >= 1
    root_in_range,      // root() < size()
    root_has_no_parent, // parent(root()) == no_rank
    parent_in_range,    // parent(r) < size() and is not r, for every other rank
    child_in_range,     // child(r, i) < size()
    child_knows_parent, // parent(child(r, i)) == r
    child_once,         // no rank is listed as a child twice
    parent_knows_child, // every rank other than the root is a child of its parent
    reaches_root,       // the way up from any rank ends at the root
    children_are_adjacent // trees that claim rank_ordered(): each child in receive order extends the interval combined so far
};

// The law that was broken, and by which rank.
struct tree_fault {
    tree_law law = tree_law::none;
    rank_t rank = no_rank; // the rank that breaks it
    friend constexpr bool operator==(const tree_fault&, const tree_fault&) = default;
};

namespace detail {
// A function of its own, so that the compiler's error message contains the law's name and the rank.
template <tree_law Law, rank_t Rank>
consteval bool holds() {
    static_assert(Law == tree_law::none,
                  "bough: the tree breaks a law: `holds<Law, Rank>` says which, and at which rank "
                  "(see bough::testing::tree_law)");
    return Law == tree_law::none;
}
} // namespace detail

// static_assert(lawful<check_shape(shape, 13)>()): an error names the law and the rank.
template <tree_fault F>
consteval bool lawful() {
    return detail::holds<F.law, F.rank>();
}

template <Tree T>
constexpr tree_fault check_tree(const T& tree) {
    const rank_t size = tree.size();
    const rank_t root = tree.root();
    if (size == 0) return {tree_law::at_least_one_rank, no_rank};
    if (root >= size) return {tree_law::root_in_range, root};
    if (tree.parent(root) != no_rank) return {tree_law::root_has_no_parent, root};

    std::vector<char> listed(size, 0); // vector<bool> is not constexpr everywhere
    for (rank_t r = 0; r != size; ++r) {
        const rank_t parent = tree.parent(r);
        if (r != root && (parent >= size || parent == r)) return {tree_law::parent_in_range, r};
        const rank_t children = tree.child_count(r);
        for (rank_t i = 0; i != children; ++i) {
            const rank_t child = tree.child(r, i);
            if (child >= size) return {tree_law::child_in_range, r};
            if (tree.parent(child) != r) return {tree_law::child_knows_parent, child};
            if (listed[child]) return {tree_law::child_once, child};
            listed[child] = 1;
        }
    }
    for (rank_t r = 0; r != size; ++r) {
        if (r != root && !listed[r]) return {tree_law::parent_knows_child, r};
    }

    // Marks the ranks that are known to lead to the root, one path at a time. So every rank is
    // passed once.
    std::vector<char> safe(size, 0);
    safe[root] = 1;
    for (rank_t r = 0; r != size; ++r) {
        rank_t steps = 0;
        rank_t at = r;
        for (; !safe[at]; at = tree.parent(at)) {
            if (steps++ == size) return {tree_law::reaches_root, r};
        }
        for (at = r; !safe[at]; at = tree.parent(at)) safe[at] = 1;
    }
    return {};
}

// The law of a tree that keeps rank order: if a rank combines its own value and then its children
// in receive order, it always joins neighbouring intervals of ranks. `below_allowed`: children may
// join from below, as in in_order. Pre: check_tree(tree) reports nothing.
template <Tree T>
constexpr tree_fault check_rank_order(const T& tree, bool below_allowed = false) {
    const rank_t odd = first_out_of_order(tree, below_allowed);
    return odd == no_rank ? tree_fault{} : tree_fault{tree_law::children_are_adjacent, odd};
}

// Checks a shape at one size: its parameters, its laws as a tree, and rank order if it claims that.
template <TreeShape Shape>
constexpr tree_fault check_shape(const Shape& shape, rank_t size) {
    if (shape.check()) return {tree_law::valid_parameters, no_rank};
    const tree bound{shape, size};
    if (const tree_fault fault = check_tree(bound); fault.law != tree_law::none) return fault;
    return bound.rank_ordered() ? check_rank_order(bound) : tree_fault{};
}

} // namespace bough::testing

#endif
