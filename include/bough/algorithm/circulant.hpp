// SPDX-License-Identifier: BSL-1.0
// The circulant family: the fewest rounds and the least traffic, for any number of ranks.
//
//   plan_allreduce(circulant{}, {.size = 7})                  2 ceil(log2 p) rounds; a rank sends 2 (p - 1) / p vectors
//   plan_reduce_scatter(circulant{.ports = 2}, {.size = 7})   ceil(log3 p) rounds of two messages each way
//   plan_allgather(circulant{}, {.size = 7})
//   plan_broadcast(circulant{}, {.size = 7, .blocks = 10})    n - 1 + ceil(log2 p) rounds for n blocks
//   plan_reduce(circulant{}, {.size = 7, .blocks = 10})       the same; these two with one port only, more are refused
#ifndef BOUGH_ALGORITHM_CIRCULANT_HPP
#define BOUGH_ALGORITHM_CIRCULANT_HPP

#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/algorithm/allreduce/reduce_scatter_allgather.hpp>
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/reduce/circulant.hpp>
#include <bough/algorithm/reduce_scatter/circulant.hpp>
#include <bough/core/label.hpp>

namespace bough::inline BOUGH_ABI {

struct circulant {
    rank_t ports = 1; // messages that a rank can send, and receive, at a time

    constexpr circulant_reduce_scatter algorithm_for(goal::reduce_scatter) const noexcept { return {ports}; }
    constexpr circulant_allgather algorithm_for(goal::allgather) const noexcept { return {ports}; }
    constexpr reduce_scatter_allgather<circulant_reduce_scatter, circulant_allgather>
    algorithm_for(goal::allreduce) const noexcept {
        return {{ports}, {ports}};
    }
    // No form of these for more than one port is known: their check() refuses it.
    constexpr circulant_broadcast algorithm_for(goal::broadcast) const noexcept { return {ports}; }
    constexpr circulant_reduce algorithm_for(goal::reduce) const noexcept { return {ports}; }
    constexpr label text() const { return label("circulant").field("ports", ports, 1); }
    friend constexpr bool operator==(const circulant&, const circulant&) = default;
};

} // namespace bough

#endif
