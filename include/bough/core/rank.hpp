// SPDX-License-Identifier: BSL-1.0
// Ranks: the numbers 0 .. size-1 of the processes of a group.
#ifndef BOUGH_CORE_RANK_HPP
#define BOUGH_CORE_RANK_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// A rank, or a number of ranks. Groups may have up to 2^32 - 2 ranks.
using rank_t = std::uint32_t;

// "Nobody": the parent of a root, the peer of a local step.
inline constexpr rank_t no_rank = 0xffff'ffffu;

// The rank that starts a broadcast or gets the result of a reduce: `bough::root{3}`.
struct root {
    rank_t rank = 0;
    friend constexpr bool operator==(const root&, const root&) = default;
};

// The longest block that any rank sends to any other one, in elements, equal on all ranks:
// `bough::at_most{16}`.
struct at_most {
    std::size_t elements = 0;
    friend constexpr bool operator==(const at_most&, const at_most&) = default;
};

// Of a gatherv or scatterv, in the place of a choice: only the root gives the lengths of all blocks, and
// each rank knows its own.
struct counts_at_root {
    friend constexpr bool operator==(const counts_at_root&, const counts_at_root&) = default;
};

// Virtual ranks: cyclic relabelling so that the root becomes 0. Pre: rank < size, root < size.
constexpr rank_t to_virtual(rank_t rank, rank_t root, rank_t size) noexcept {
    return rank >= root ? rank - root : rank + (size - root);
}
constexpr rank_t from_virtual(rank_t virtual_rank, rank_t root, rank_t size) noexcept {
    return virtual_rank < size - root ? virtual_rank + root : virtual_rank - (size - root);
}

} // namespace bough

#endif
