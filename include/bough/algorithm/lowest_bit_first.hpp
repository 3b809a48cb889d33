// SPDX-License-Identifier: BSL-1.0
// The lowest-bit-first family: rounds and traffic of the circulant family, but most of the data
// stays among neighbours.
//
//   plan_allreduce(lowest_bit_first{}, {.size = 7})       2 ceil(log2 p) rounds; a rank sends
//                                                         2 (p - 1) / p of the vector
//   plan_reduce_scatter(lowest_bit_first{.aggregation_limit = 4}, {.size = 64})      messages of at most 4 blocks
//   plan_reduce_scatter(lowest_bit_first{.scratch_limit = 20}, {.size = 64})          20 blocks of memory
//   plan_allgather(lowest_bit_first{}, {.size = 7})
#ifndef BOUGH_ALGORITHM_LOWEST_BIT_FIRST_HPP
#define BOUGH_ALGORITHM_LOWEST_BIT_FIRST_HPP

#include <bough/algorithm/allgather/lowest_bit_first.hpp>
#include <bough/algorithm/allreduce/reduce_scatter_allgather.hpp>
#include <bough/algorithm/reduce_scatter/lowest_bit_first.hpp>
#include <bough/core/label.hpp>

namespace bough::inline BOUGH_ABI {

struct lowest_bit_first {
    // The most blocks in a message, rounded down to a power of two; 0: no limit.
    block_t aggregation_limit = 0;
    // The most blocks of scratch memory of a rank: limits messages as far as that takes; 0: no limit. A
    // reduce_scatter needs at least ceil(log2 p) + 1 blocks, an allgather none.
    block_t scratch_limit = 0;

    constexpr lowest_bit_first_reduce_scatter algorithm_for(goal::reduce_scatter) const noexcept {
        return {aggregation_limit, scratch_limit};
    }
    constexpr lowest_bit_first_allgather algorithm_for(goal::allgather) const noexcept {
        return {aggregation_limit, scratch_limit};
    }
    constexpr reduce_scatter_allgather<lowest_bit_first_reduce_scatter, lowest_bit_first_allgather>
    algorithm_for(goal::allreduce) const noexcept {
        return {{aggregation_limit, scratch_limit}, {aggregation_limit, scratch_limit, scratch_limit != 0}};
    }
    constexpr label text() const {
        return label("lowest_bit_first")
            .field("aggregation_limit", aggregation_limit, 0)
            .field("scratch_limit", scratch_limit, 0);
    }
    friend constexpr bool operator==(const lowest_bit_first&, const lowest_bit_first&) = default;
};

} // namespace bough

#endif
