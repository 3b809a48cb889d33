// SPDX-License-Identifier: BSL-1.0
// The standard candidates for gather: trees whose subtrees are intervals of ranks for any root, so
// that blocks travel in one piece.
#ifndef BOUGH_SELECT_STANDARD_GATHER_HPP
#define BOUGH_SELECT_STANDARD_GATHER_HPP

#include <bough/algorithm/gather/tree.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::gather> {
    static void add(auto& made, const dimensions& at, const problem&) {
        detail::add_interval_trees<tree_gather<ordered<fnomial>>>(made, at);
    }
};

} // namespace bough

#endif
