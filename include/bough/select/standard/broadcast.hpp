// SPDX-License-Identifier: BSL-1.0
// The standard candidates for broadcast: trees for short vectors, in blocks or by parts for long ones.
#ifndef BOUGH_SELECT_STANDARD_BROADCAST_HPP
#define BOUGH_SELECT_STANDARD_BROADCAST_HPP

#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/select/standard_set.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::broadcast> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        for (const rank_t degree : {2u, 3u, 4u, 5u, 6u, 8u, 16u})
            if (degree + 1 < at.size) made.add(tree_broadcast{fnomial{degree}});
        made.add(tree_broadcast{fnomial{at.size < 2 ? 2 : at.size}});
        if (at.size < 2 || what.bytes / at.size == 0) return; // some blocks would have no bytes
        if (at.size == 2) { // nothing is passed on: blocks of less than 128 KiB, or very many, only add messages
            const auto most = static_cast<block_t>(std::min<std::uint64_t>(what.bytes >> 17, 128));
            return detail::add_segmented(made, circulant_broadcast{}, at, what, most);
        }
        detail::add_segmented(made, circulant_broadcast{}, at, what);
        // The chain takes p - 2 + n rounds, against n - 1 + log2 p of the circulant form. It is
        // here only for its few peers.
        if (at.size <= 64) detail::add_segmented(made, tree_broadcast{chain{}}, at, what);
        detail::add_segmented(made, double_tree_broadcast{}, at, what, 256);
        detail::add_segmented(made, tree_broadcast{fnomial{2}}, at, what, 32);
    }
};

} // namespace bough

#endif
