// SPDX-License-Identifier: BSL-1.0
// The chain: every rank has one child, the next rank. The shape of pipelines; depth n-1.
//
//   n = 4     0(1(2(3)))
#ifndef BOUGH_TREE_CHAIN_HPP
#define BOUGH_TREE_CHAIN_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

namespace bough::inline BOUGH_ABI {

struct chain {
    using text_tells = chain;
    friend constexpr bool operator==(const chain&, const chain&) = default;

    // Pre: v < n, i < child_count(v, n).
    constexpr rank_t parent(rank_t v, rank_t) const noexcept { return v == 0 ? no_rank : v - 1; }
    constexpr rank_t child_count(rank_t v, rank_t n) const noexcept { return n - v > 1 ? 1 : 0; }
    constexpr rank_t child(rank_t v, rank_t, rank_t) const noexcept { return v + 1; }

    constexpr status check() const noexcept { return {}; }
    constexpr bool rank_ordered() const noexcept { return true; }
};

} // namespace bough

#endif
