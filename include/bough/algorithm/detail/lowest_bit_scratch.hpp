// SPDX-License-Identifier: BSL-1.0
// The scratch memory of the lowest-bit-first algorithms when it is bounded: in which planes messages
// are put together, land and accumulate, how many blocks these hold, and how long messages may be.
//
// All planes but one are packed. Messages leave from two planes by turns, and land in two by turns,
// so that one can be on its way while the next is worked on. While the near offsets are walked, at
// most one row of partial results is under way for each number of trailing zeros that its offsets
// have: each such number has a plane.
#ifndef BOUGH_ALGORITHM_DETAIL_LOWEST_BIT_SCRATCH_HPP
#define BOUGH_ALGORITHM_DETAIL_LOWEST_BIT_SCRATCH_HPP

#include <bough/algorithm/detail/lowest_bit_tree.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

class lowest_bit_scratch {
public:
    // `first_plane`: the number of the first packed plane.
    constexpr lowest_bit_scratch(const lowest_bit_tree& tree, std::uint32_t first_plane) noexcept
        : tree_(tree), first_(first_plane) {}

    // Where the message of a step is put together, and where it lands.
    constexpr buffer leaving(const lowest_bit_tree::offsets& step) const noexcept {
        return packed_scratch(first_ + (turn(step) % 2 == 0 ? 0 : 1));
    }
    constexpr buffer landing(const lowest_bit_tree::offsets& step) const noexcept {
        return packed_scratch(first_ + 2 + turn(step) % 2);
    }
    // The same if only messages from odd offsets are put together while the near ones are walked.
    constexpr buffer leaving_leaf(const lowest_bit_tree::offsets& step) const noexcept {
        return packed_scratch(first_ + (tree_.is_walked(step) ? turn(step) / 2 % 2 : 1 - turn(step) % 2));
    }
    // Where the partial results of offset `o`, and of those that are walked with it, accumulate.
    constexpr buffer row(std::uint64_t o) const noexcept {
        return packed_scratch(first_ + 3 + static_cast<std::uint32_t>(std::countr_zero(o)));
    }

private:
    // Walked steps have turns by their offset; the last of them is 1. The steps behind or before it have
    // even and odd turns in alternation.
    constexpr std::uint32_t turn(const lowest_bit_tree::offsets& step) const noexcept {
        if (tree_.is_walked(step)) return static_cast<std::uint32_t>(step.first);
        return static_cast<std::uint32_t>(std::bit_width(step.first / tree_.walked())) + 1;
    }

    const lowest_bit_tree& tree_;
    std::uint32_t first_;
};

// How many scratch blocks they need, if a message has no more than `limit` blocks, a power of two.
class lowest_bit_needs {
public:
    constexpr lowest_bit_needs(rank_t size, block_t limit) noexcept
        : size_(size), walked_(lowest_bit_tree(size, limit).walked()) {}

    constexpr std::uint64_t of_allgather() const noexcept {
        return 2 * (several(near(1)) + several(std::max(near(2), far())));
    }
    constexpr std::uint64_t of_reduce_scatter() const noexcept {
        if (size_ == 1) return 0;
        std::uint64_t blocks = near(1) + std::max(near(2), far());      // landing
        blocks += several(near(1)) + several(std::max(near(3), far())); // leaving
        for (std::uint64_t o = 2; o < walked_ && o + 1 < size_; o *= 2) blocks += near(o);
        return blocks + (size_ - 2) / walked_; // offsets that are not walked
    }

private:
    // The blocks in the message of a walked offset, and in that of the nearest step that is not walked.
    constexpr std::uint64_t near(std::uint64_t o) const noexcept {
        return o < walked_ && o < size_ ? (size_ - o + walked_ - 1) / walked_ : 0;
    }
    constexpr std::uint64_t far() const noexcept {
        return walked_ < size_ ? (size_ - walked_ + 2 * walked_ - 1) / (2 * walked_) : 0;
    }
    // A message of one block is not put together.
    static constexpr std::uint64_t several(std::uint64_t blocks) noexcept { return blocks > 1 ? blocks : 0; }

    std::uint64_t size_, walked_;
};

// The most blocks in a message: a power of two within both limits. 0: there is no limit. needs(limit)
// says how many scratch blocks a limit takes.
template <class Needs>
constexpr block_t lowest_bit_limit(rank_t size, block_t aggregation_limit, block_t scratch_limit, Needs&& needs) {
    if (aggregation_limit == 0 && scratch_limit == 0) return 0;
    block_t limit = std::bit_ceil(size) / 2;
    if (aggregation_limit != 0) limit = std::min(limit, std::bit_floor(aggregation_limit));
    limit = std::max<block_t>(limit, 1);
    while (limit > 1 && scratch_limit != 0 && needs(limit) > scratch_limit) limit /= 2;
    return limit;
}

} // namespace bough::detail

#endif
