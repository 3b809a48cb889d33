// SPDX-License-Identifier: BSL-1.0
// The pairwise family: every block goes straight from the rank that has it to the rank that needs it.
//
//   plan_reduce_scatter(pairwise{}, {.size = 7})   p - 1 rounds, in rank order
//   plan_alltoall(pairwise{}, {.size = 7})         p - 1 rounds, every block once
#ifndef BOUGH_ALGORITHM_PAIRWISE_HPP
#define BOUGH_ALGORITHM_PAIRWISE_HPP

#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>

namespace bough::inline BOUGH_ABI {

struct pairwise {
    constexpr pairwise_reduce_scatter algorithm_for(goal::reduce_scatter) const noexcept { return {}; }
    constexpr pairwise_alltoall algorithm_for(goal::alltoall) const noexcept { return {}; }
    friend constexpr bool operator==(const pairwise&, const pairwise&) = default;
};

} // namespace bough

#endif
