// SPDX-License-Identifier: BSL-1.0
// The Bruck family: logarithmic rounds for any number of ranks, by the digits of distances.
//
//   plan_allgather(bruck{.ports = 2}, {.size = 7})   ceil(log3 p) rounds of two messages each way
//   plan_alltoall(bruck{.ports = 3}, {.size = 7})    ceil(log4 p) rounds of three messages each way
#ifndef BOUGH_ALGORITHM_BRUCK_HPP
#define BOUGH_ALGORITHM_BRUCK_HPP

#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/core/label.hpp>

namespace bough::inline BOUGH_ABI {

struct bruck {
    rank_t ports = 1; // messages that a rank can send, and receive, at a time

    constexpr bruck_allgather algorithm_for(goal::allgather) const noexcept { return {ports}; }
    constexpr bruck_alltoall algorithm_for(goal::alltoall) const noexcept { return {ports}; }
    constexpr label text() const { return label("bruck").field("ports", ports, 1); }
    friend constexpr bool operator==(const bruck&, const bruck&) = default;
};

} // namespace bough

#endif
