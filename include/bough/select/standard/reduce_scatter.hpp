// SPDX-License-Identifier: BSL-1.0
// The standard candidates for reduce_scatter: all of them send as little as there can be; they
// differ in rounds and in order.
#ifndef BOUGH_SELECT_STANDARD_REDUCE_SCATTER_HPP
#define BOUGH_SELECT_STANDARD_REDUCE_SCATTER_HPP

#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/reduce_scatter/circulant.hpp>
#include <bough/algorithm/reduce_scatter/lowest_bit_first.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/reduce_scatter/recursive_halving.hpp>
#include <bough/algorithm/reduce_scatter/ring.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::reduce_scatter> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        // Several messages at a time pay where messages spend most of their time on the way.
        for (const rank_t ports : {1u, 2u, 3u, 7u})
            if (ports < 2 || ports < at.size) made.add(circulant_reduce_scatter{ports});
        made.add(lowest_bit_first_reduce_scatter{});
        made.add(recursive_halving{});
        made.add(pairwise_reduce_scatter{});
        if (what.bytes != 0 && detail::may_combine_in_series(at, what)) made.add(by_owner_reduce_scatter{});
        if (at.size > 2 && what.bytes != 0) made.add(ring_reduce_scatter{});
    }
};

} // namespace bough

#endif
