// SPDX-License-Identifier: BSL-1.0
// The standard candidates for reduce: trees for short vectors, in blocks or by parts for long ones.
#ifndef BOUGH_SELECT_STANDARD_REDUCE_HPP
#define BOUGH_SELECT_STANDARD_REDUCE_HPP

#include <bough/algorithm/reduce/binary_blocks.hpp>
#include <bough/algorithm/reduce/circulant.hpp>
#include <bough/algorithm/reduce/double_tree.hpp>
#include <bough/algorithm/reduce/halving_gather.hpp>
#include <bough/algorithm/reduce/per_level.hpp>
#include <bough/algorithm/reduce/ring.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/select/standard.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

namespace bough {

template <>
struct standard_set<goal::reduce> {
    template <int = 0>
    static void add(candidate_list& made, const dimensions& at, const problem& what) {
        // Subtrees are intervals of ranks for any root, so that rank order is kept.
        const rank_t all = at.size < 2 ? 2 : at.size;
        for (const rank_t degree :
             {rank_t{2}, rank_t{3}, rank_t{4}, rank_t{5}, rank_t{6}, rank_t{8}, rank_t{16}, all}) {
            if (at.root == 0)
                made.add(tree_reduce{fnomial{degree}});
            else
                made.add(tree_reduce{ordered{fnomial{degree}}});
        }
        if (at.size < 2 || what.bytes / at.size == 0) return; // no bytes for all blocks
        made.add(halving_gather{});
        made.add(per_level_reduce{});
        if (!std::has_single_bit(at.size)) made.add(binary_blocks_reduce{});
        made.add(ring_reduce{});
        detail::add_segmented(made, circulant_reduce{}, at, what);
        detail::add_segmented(made, double_tree_reduce{}, at, what, 256);
        // p - 2 + n rounds, against n - 1 + log2 p of the circulant form: only for its few peers, and its order.
        if (at.size <= 64) detail::add_segmented(made, tree_reduce{ordered{chain{}}}, at, what);
    }
};

} // namespace bough

#endif
