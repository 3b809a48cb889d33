// SPDX-License-Identifier: BSL-1.0
// first_out_of_order: finds out, by walking a tree, whether combining over it keeps rank order. A
// shape's rank_ordered() only claims this.
#ifndef BOUGH_TREE_RANK_ORDER_HPP
#define BOUGH_TREE_RANK_ORDER_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>
#include <vector>

namespace bough::inline BOUGH_ABI {

// A rank combines its own value with those of its children in receive order: does that always join
// neighbouring intervals of ranks? Returns the first child whose ranks do not follow what was
// combined before it; no_rank if there is none. `below_allowed`: a child's ranks may also lie right
// below them, as in in_order. Time and memory O(size). If it is given what is no tree
// (bough/testing/tree_laws.hpp), it returns some rank, unless all ranks happen to be in order.
template <Tree T>
constexpr rank_t first_out_of_order(const T& tree, bool below_allowed) {
    const rank_t size = tree.size();
    std::vector<rank_t> order{tree.root()}; // parents before children
    order.reserve(size);
    for (std::size_t at = 0; at != order.size(); ++at) {
        const rank_t r = order[at];
        const rank_t children = tree.child_count(r);
        if (children > size - order.size()) return r;
        for (rank_t i = 0; i != children; ++i) {
            order.push_back(tree.child(r, i));
            if (order.back() >= size) return r;
        }
    }
    std::vector<rank_t> first(size, 0); // the interval of each subtree
    std::vector<rank_t> last(size, 0);
    for (std::size_t at = order.size(); at-- != 0;) {
        const rank_t r = order[at];
        first[r] = last[r] = r;
        for (rank_t i = tree.child_count(r); i-- != 0;) {
            const rank_t child = tree.child(r, i);
            if (first[child] == last[r] + 1)
                last[r] = last[child];
            else if (below_allowed && last[child] + 1 == first[r])
                first[r] = first[child];
            else
                return child;
        }
    }
    return no_rank;
}

} // namespace bough

#endif
