// SPDX-License-Identifier: BSL-1.0
// Which ranks a subtree has, as intervals: what one message of a gather or scatter can carry.
//
// Block b belongs to rank b, so neighbouring ranks are neighbouring blocks. A subtree is one
// interval if the shape is rank_ordered() and the root is 0, or with ordered{shape} and any root;
// with a cyclic relabelling it is two at most; in general there may be as many as ranks. Cost: the
// depth of the tree in the first three cases, else the size of the subtree and its sorting.
#ifndef BOUGH_ALGORITHM_DETAIL_SUBTREE_HPP
#define BOUGH_ALGORITHM_DETAIL_SUBTREE_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/slice.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Interval k as blocks of scratch plane k.
using subtree_slices = std::vector<slice>;

constexpr void add_interval(subtree_slices& all, rank_t first, rank_t last) {
    all.push_back({scratch(static_cast<std::uint32_t>(all.size())), first, last - first});
}

// The last rank below r in a tree whose shape is rank_ordered(): the first child sent to has the
// furthest subtree.
constexpr rank_t furthest_below(const auto& tree, rank_t r) {
    while (tree.child_count(r) != 0) r = tree.child(r, 0);
    return r;
}

// Maximal intervals, ascending. Pre: r is a rank of the tree.
template <Tree T>
constexpr subtree_slices slices_below(const T& tree, rank_t r) {
    std::vector<rank_t> below{r};
    for (std::size_t k = 0; k != below.size(); ++k) {
        const rank_t children = tree.child_count(below[k]);
        for (rank_t i = 0; i != children; ++i) below.push_back(tree.child(below[k], i));
    }
    std::sort(below.begin(), below.end());
    subtree_slices found;
    for (std::size_t first = 0, k = 1; k <= below.size(); ++k) {
        if (k != below.size() && below[k] == below[k - 1] + 1) continue;
        add_interval(found, below[first], below[k - 1] + 1);
        first = k;
    }
    return found;
}
template <class Shape>
constexpr subtree_slices slices_below(const tree<Shape>& t, rank_t r) {
    if (!bough::is_rank_ordered(t.shape())) return detail::slices_below<tree<Shape>>(t, r);
    subtree_slices found;
    const rank_t last = detail::furthest_below(t, r);
    if (r == t.root()) {
        add_interval(found, 0, t.size());
    } else if (r <= last) {
        add_interval(found, r, last + 1);
    } else { // around the end
        add_interval(found, 0, last + 1);
        add_interval(found, r, t.size());
    }
    return found;
}
template <class Shape>
constexpr subtree_slices slices_below(const in_order<Shape>& t, rank_t r) {
    subtree_slices found;
    const rank_t last = furthest_below(t, r);
    if (r == t.root())
        add_interval(found, 0, t.size());
    else
        add_interval(found, std::min(r, last), std::max(r, last) + 1);
    return found;
}

// The same blocks, where `mine` has them. Pre: one of `mine` contains them all.
constexpr slice within(const subtree_slices& mine, const slice& part) {
    std::size_t k = 0;
    while (mine[k].last() <= part.first) ++k;
    return part.in(mine[k].buffer);
}

} // namespace bough::detail

#endif
