// SPDX-License-Identifier: BSL-1.0
// depth: the longest way from the root of a tree to a leaf, in edges; by a walk, so for any Tree.
//
// Time O(size), memory O(size). 0 for one rank.
#ifndef BOUGH_TREE_DEPTH_HPP
#define BOUGH_TREE_DEPTH_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>

#include <vector>

namespace bough::inline BOUGH_ABI {

template <Tree T>
constexpr rank_t depth(const T& tree) {
    std::vector<rank_t> level{tree.root()};
    std::vector<rank_t> below;
    for (rank_t depth = 0;; ++depth) {
        for (rank_t r : level) {
            const rank_t children = tree.child_count(r);
            for (rank_t i = 0; i != children; ++i) below.push_back(tree.child(r, i));
        }
        if (below.empty()) return depth;
        BOUGH_EXPECTS(depth != tree.size(), "tree: not a tree, a rank is its own ancestor");
        level.swap(below);
        below.clear();
    }
}

} // namespace bough

#endif
