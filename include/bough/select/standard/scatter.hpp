// SPDX-License-Identifier: BSL-1.0
// The standard candidates for scatter: trees whose subtrees are intervals of ranks for any root, so that blocks travel in one piece.
#ifndef BOUGH_SELECT_STANDARD_SCATTER_HPP
#define BOUGH_SELECT_STANDARD_SCATTER_HPP

#include <bough/algorithm/scatter/tree.hpp>
#include <bough/algorithm/tree_source.hpp>
#include <bough/select/standard.hpp>
#include <bough/tree/fnomial.hpp>

namespace bough {

template <>
struct standard_set<goal::scatter> {
    template <int = 0>
    static void add(candidate_list& made, const dimensions& at, const problem& what) {
        const rank_t all = at.size < 2 ? 2 : at.size; // straight from the root
        for (const rank_t degree : {rank_t{2}, rank_t{3}, rank_t{4}, rank_t{8}, all})
            made.add(tree_scatter{ordered{fnomial{degree}}});
        (void)what;
    }
};

} // namespace bough

#endif
