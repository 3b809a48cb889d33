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
    static void add(candidate_list& made, const dimensions& at, const problem&) {
        for (const rank_t degree : {2u, 3u, 4u, 8u})
            if (degree + 1 < detail::widest_side(at)) made.add(tree_scatter{ordered{fnomial{degree}}});
        made.add(tree_scatter{ordered{fnomial{at.size < 2 ? 2 : at.size}}}); // straight from the root
    }
};

} // namespace bough

#endif
