// SPDX-License-Identifier: BSL-1.0
// The blocks of a neighbourhood collective.
#ifndef BOUGH_ALGORITHM_DETAIL_NEIGHBOUR_BLOCKS_HPP
#define BOUGH_ALGORITHM_DETAIL_NEIGHBOUR_BLOCKS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/status.hpp>
#include <bough/schedule/neighbourhood.hpp>

namespace bough::inline BOUGH_ABI::detail {

constexpr block_t blocks_of(const neighbourhood& around, rank_t size) noexcept {
    return around.check(size) ? 0 : around.blocks(size);
}
constexpr status check_block_per_rank_of(const neighbourhood& around, const dimensions& at) noexcept {
    if (const status bad = around.check(at.size)) return bad;
    return at.blocks == at.size || at.blocks == natural_blocks
               ? status{}
               : invalid_argument("blocks: must be as many as there are ranks");
}
constexpr status check_block_per_place(const neighbourhood& around, const dimensions& at) noexcept {
    if (const status bad = around.check(at.size)) return bad;
    return at.blocks == around.blocks(at.size) || at.blocks == natural_blocks
               ? status{}
               : invalid_argument("blocks: must be as many as there are places that ranks send from");
}
// Does a rank receive its own block?
constexpr bool is_its_own_neighbour(const neighbourhood& around, rank_t rank) noexcept {
    for (block_t k = 0; k != around.sends(rank); ++k)
        if (around.destination(rank, k) == rank) return true;
    return false;
}

} // namespace bough::detail

#endif
