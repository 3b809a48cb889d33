// SPDX-License-Identifier: BSL-1.0
// The ring family: collectives in which every rank talks to its two neighbours only. Most rounds,
// simplest traffic.
//
//   plan_allreduce(ring{}, {.size = 7})        2 (p - 1) rounds; a rank sends 2 (p - 1) / p of the vector
//   plan_reduce_scatter(ring{}, {.size = 7})   plan_allgather(ring{}, {.size = 7})   plan_reduce(ring{}, {.size = 7})
#ifndef BOUGH_ALGORITHM_RING_HPP
#define BOUGH_ALGORITHM_RING_HPP

#include <bough/algorithm/allgather/ring.hpp>
#include <bough/algorithm/allreduce/reduce_scatter_allgather.hpp>
#include <bough/algorithm/reduce/ring.hpp>
#include <bough/algorithm/reduce_scatter/ring.hpp>

namespace bough::inline BOUGH_ABI {

struct ring {
    constexpr ring_reduce_scatter algorithm_for(goal::reduce_scatter) const noexcept { return {}; }
    constexpr ring_allgather algorithm_for(goal::allgather) const noexcept { return {}; }
    constexpr reduce_scatter_allgather<ring_reduce_scatter, ring_allgather>
    algorithm_for(goal::allreduce) const noexcept {
        return {};
    }
    // Strides increase, and every part goes straight to the root: not only neighbours talk.
    constexpr ring_reduce algorithm_for(goal::reduce) const noexcept { return {}; }
    friend constexpr bool operator==(const ring&, const ring&) = default;
};

} // namespace bough

#endif
