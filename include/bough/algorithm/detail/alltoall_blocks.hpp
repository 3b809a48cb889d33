// SPDX-License-Identifier: BSL-1.0
// The blocks of an alltoall: one for each pair of ranks.
#ifndef BOUGH_ALGORITHM_DETAIL_ALLTOALL_BLOCKS_HPP
#define BOUGH_ALGORITHM_DETAIL_ALLTOALL_BLOCKS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/status.hpp>

namespace bough::inline BOUGH_ABI::detail {

constexpr status check_block_per_pair(const dimensions& at) noexcept {
    if (at.size > 0xffff)
        return invalid_argument("size: an alltoall of so many ranks has more blocks than a block_t counts");
    return at.blocks == at.size * at.size || at.blocks == natural_blocks
               ? status{}
               : invalid_argument("blocks: must be as many as pairs of ranks, size * size");
}

} // namespace bough::detail

#endif
