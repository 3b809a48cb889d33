// SPDX-License-Identifier: BSL-1.0
// The standard candidates for allgather: all of them send as little as there can be; they differ in
// rounds and in distance.
#ifndef BOUGH_SELECT_STANDARD_ALLGATHER_HPP
#define BOUGH_SELECT_STANDARD_ALLGATHER_HPP

#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/algorithm/allgather/lowest_bit_first.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/allgather/ring.hpp>
#include <bough/select/standard_set.hpp>

namespace bough::inline BOUGH_ABI {

template <>
struct standard_set<goal::allgather> {
    static void add(auto& made, const dimensions& at, const problem& what) {
        // Several messages at a time pay where messages spend most of their time on the way.
        for (const rank_t ports : {1u, 2u, 3u, 7u})
            if (ports < 2 || ports < at.size) made.add(circulant_allgather{ports});
        if (at.size > 4 && at.size != 8 && at.size <= detail::most_at_once) // each to all others: one round
            made.add(circulant_allgather{at.size - 1});
        made.add(lowest_bit_first_allgather{});
        made.add(bruck_allgather{});
        if (at.size <= 2 || what.bytes == 0) return;
        made.add(ring_allgather{});
        if (at.size % 2 == 0) made.add(neighbour_exchange{});
    }
};

} // namespace bough

#endif
