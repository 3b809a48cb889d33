// SPDX-License-Identifier: BSL-1.0
// The standard candidates for barrier: the fewest rounds, or the fewest messages where ranks share cores.
#ifndef BOUGH_SELECT_STANDARD_BARRIER_HPP
#define BOUGH_SELECT_STANDARD_BARRIER_HPP

#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/select/standard_set.hpp>
#include <bough/tree/fnomial.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::barrier> {
    static void add(auto& made, const dimensions& at, const problem&) {
        made.add(dissemination{});
        // Fewer rounds for more messages: they pay where messages spend most of their time on the way,
        // or where ranks share cores.
        for (const rank_t ports : {2u, 3u, 7u})
            if (ports + 1 < at.size) made.add(dissemination{ports});
        if (at.size > 2 && at.size <= detail::most_at_once) made.add(dissemination{at.size - 1});
        for (const rank_t degree : {2u, 3u, 4u, 8u, 16u})
            if (degree + 1 < at.size) made.add(tree_allreduce{fnomial{degree}});
        made.add(tree_allreduce{fnomial{at.size < 2 ? 2 : at.size}}); // flat: every rank to rank 0 and back
    }
};

} // namespace bough

#endif
