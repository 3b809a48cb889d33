// SPDX-License-Identifier: BSL-1.0
// The standard candidates for reduce: trees for short vectors, in blocks or by parts for long ones.
#ifndef BOUGH_SELECT_STANDARD_REDUCE_HPP
#define BOUGH_SELECT_STANDARD_REDUCE_HPP

#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/reduce/binary_blocks.hpp>
#include <bough/algorithm/reduce/circulant.hpp>
#include <bough/algorithm/reduce/double_tree.hpp>
#include <bough/algorithm/reduce/halving_gather.hpp>
#include <bough/algorithm/reduce/per_level.hpp>
#include <bough/algorithm/reduce/ring.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/select/standard_set.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::reduce> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        // These trees' subtrees are intervals of ranks for any root, so that rank order is kept.
        const auto add_tree = [&](rank_t degree) {
            if (at.root == 0)
                made.add(tree_reduce{fnomial{degree}});
            else
                made.add(tree_reduce{ordered{fnomial{degree}}});
        };
        for (const rank_t degree : {2u, 3u, 4u, 5u, 6u, 8u, 16u})
            if (degree + 1 < detail::widest_side(at)) add_tree(degree);
        add_tree(at.size < 2 ? 2 : at.size);                  // flat: every rank straight to the root
        if (at.size < 2 || what.bytes / at.size == 0) return; // some blocks would have no bytes
        if (detail::may_combine_in_series(at, what)) made.add(by_owner_reduce{});
        made.add(halving_gather{});
        made.add(per_level_reduce{});
        if (!std::has_single_bit(at.size)) made.add(binary_blocks_reduce{});
        made.add(ring_reduce{});
        detail::add_segmented(made, circulant_reduce{}, at, what);
        detail::add_segmented(made, double_tree_reduce{}, at, what, 256);
        // The chain takes p - 2 + n rounds, against n - 1 + log2 p of the circulant form. It is
        // here only for its few peers and because it keeps rank order.
        if (at.size <= 64) detail::add_segmented(made, tree_reduce{ordered{chain{}}}, at, what);
    }
    // Where the bits must be those of a long vector, a short one takes this, too.
    static void add_for_any_partition(auto& made, const dimensions& at, const problem& what) {
        if (at.size > 1 && what.bytes / at.size == 0) made.add(halving_gather{});
    }
};

} // namespace bough

#endif
