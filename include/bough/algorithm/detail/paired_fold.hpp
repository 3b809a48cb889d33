// SPDX-License-Identifier: BSL-1.0
// The paired fold: how any number of ranks acts as a power of two.
#ifndef BOUGH_ALGORITHM_DETAIL_PAIRED_FOLD_HPP
#define BOUGH_ALGORITHM_DETAIL_PAIRED_FOLD_HPP

#include <bough/core/rank.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The paired fold of p ranks onto a power of two: ranks 2i and 2i + 1, i < extra, act as one.
struct paired_fold {
    rank_t group; // the largest power of two <= p
    rank_t extra; // p - group

    constexpr explicit paired_fold(rank_t size) noexcept : group(std::bit_floor(size)), extra(size - group) {}
    constexpr bool folds(rank_t rank) const noexcept { return rank < 2 * extra; }
    constexpr bool leaves(rank_t rank) const noexcept { return folds(rank) && rank % 2 == 1; }
    constexpr rank_t folded(rank_t rank) const noexcept { return folds(rank) ? rank / 2 : rank - extra; }
    constexpr rank_t unfolded(rank_t member) const noexcept { return member < extra ? member * 2 : member + extra; }
};

} // namespace detail

} // namespace bough

#endif
