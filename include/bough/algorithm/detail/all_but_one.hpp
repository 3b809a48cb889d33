// SPDX-License-Identifier: BSL-1.0
// The ranks of a group but one, numbered through.
#ifndef BOUGH_ALGORITHM_DETAIL_ALL_BUT_ONE_HPP
#define BOUGH_ALGORITHM_DETAIL_ALL_BUT_ONE_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>

namespace bough::inline BOUGH_ABI::detail {

struct all_but_one {
    rank_t apart;

    // Pre: not the one that is apart.
    constexpr rank_t number_of(rank_t rank) const noexcept { return rank - (rank > apart ? 1 : 0); }
    constexpr rank_t rank_of(rank_t number) const noexcept { return number + (number >= apart ? 1 : 0); }
};

} // namespace bough::detail

#endif
