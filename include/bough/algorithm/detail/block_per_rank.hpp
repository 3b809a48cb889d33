// SPDX-License-Identifier: BSL-1.0
// The blocks of gather, scatter, reduce_scatter and allgather: one for each rank, or as many for each.
#ifndef BOUGH_ALGORITHM_DETAIL_BLOCK_PER_RANK_HPP
#define BOUGH_ALGORITHM_DETAIL_BLOCK_PER_RANK_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/status.hpp>

namespace bough::inline BOUGH_ABI::detail {

constexpr status check_block_per_rank(const dimensions& at) noexcept {
    return at.blocks == at.size || at.blocks == natural_blocks
               ? status{}
               : invalid_argument("blocks: must be as many as ranks, one each");
}

// Of algorithms that may cut the block of each rank.
constexpr status check_blocks_per_rank(const dimensions& at) noexcept {
    return at.blocks == natural_blocks || (at.blocks != 0 && at.blocks % at.size == 0)
               ? status{}
               : invalid_argument("blocks: must be a multiple of the number of ranks");
}

} // namespace bough::detail

#endif
