// SPDX-License-Identifier: BSL-1.0
// The flat tree: everybody is a child of the root. Depth 1, and the root serves n-1 peers one after
// the other.
//
//   n = 5, in receive order     0(1 2 3 4)
// Sent in the reverse, the highest rank first, like the f-nomial tree of a degree of n or more.
#ifndef BOUGH_TREE_FLAT_HPP
#define BOUGH_TREE_FLAT_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

namespace bough::inline BOUGH_ABI {

struct flat {
    using text_tells = flat;
    friend constexpr bool operator==(const flat&, const flat&) = default;

    // Pre: v < n, i < child_count(v, n).
    constexpr rank_t parent(rank_t v, rank_t) const noexcept { return v == 0 ? no_rank : 0; }
    constexpr rank_t child_count(rank_t v, rank_t n) const noexcept { return v == 0 ? n - 1 : 0; }
    constexpr rank_t child(rank_t, rank_t n, rank_t i) const noexcept { return n - 1 - i; }

    constexpr status check() const noexcept { return {}; }
    constexpr bool rank_ordered() const noexcept { return true; }
};

} // namespace bough

#endif
