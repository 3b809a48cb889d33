// SPDX-License-Identifier: BSL-1.0
// The tree of offsets that the lowest-bit-first algorithms share: the parent of offset o is o
// without its lowest set bit.
//
// All edges of one step have one length, so a step is a message to one rank and one from another,
// with several blocks.
#ifndef BOUGH_ALGORITHM_DETAIL_LOWEST_BIT_TREE_HPP
#define BOUGH_ALGORITHM_DETAIL_LOWEST_BIT_TREE_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

class lowest_bit_tree {
public:
    // The offsets first, first + stride, ... below size: children, whose edges a step uses.
    struct offsets {
        std::uint64_t first, stride, size;

        // Calls f(offset, more).
        template <class F>
        constexpr void for_each(F&& f) const {
            for (std::uint64_t o = first; o < size; o += stride) f(static_cast<rank_t>(o), o + stride < size);
        }
        constexpr bool has_several() const noexcept { return first + stride < size; }
    };

    // `limit` is how many edges a step may use, rounded down to a power of two; 0: any number. Pre:
    // size >= 1.
    constexpr lowest_bit_tree(rank_t size, block_t limit) noexcept : size_(size) {
        const auto levels = static_cast<unsigned>(std::bit_width(size - 1));
        if (levels == 0) return;
        const auto wanted = limit == 0 ? levels - 1 : static_cast<unsigned>(std::bit_width(limit)) - 1;
        walked_ = std::uint64_t{1} << (levels - std::min(wanted, levels - 1));
    }

    // Calls f(distance, children) for the steps from the root to the leaves.
    template <class F>
    constexpr void downwards(F&& f) const {
        for (std::uint64_t d = std::bit_ceil(std::uint64_t{size_}) / 2; d >= walked_; d /= 2) whole_level(d, f);
        for (std::uint64_t o = 1; o < std::min<std::uint64_t>(walked_, size_); ++o) walk(o, f);
    }
    // The same steps in the other order.
    template <class F>
    constexpr void upwards(F&& f) const {
        for (std::uint64_t o = std::min<std::uint64_t>(walked_, size_); o-- > 1;) walk(o, f);
        for (std::uint64_t d = walked_; d < size_; d *= 2) whole_level(d, f);
    }

    // Offsets below it are walked one by one.
    constexpr std::uint64_t walked() const noexcept { return walked_; }
    constexpr bool is_walked(const offsets& step) const noexcept { return step.first < walked_; }
    constexpr bool has_children(rank_t o) const noexcept { return o % 2 == 0 && o + 1 < size_; }
    // Upwards: is the child at o + distance the first whose message comes to o?
    constexpr bool comes_first(rank_t o, rank_t distance) const noexcept {
        if (distance >= walked_) return false; // a nearer child came while the near offsets were walked
        const std::uint64_t below = o % walked_ == 0 ? walked_ : std::uint64_t{o & (~o + 1)};
        return std::uint64_t{2} * distance >= below || o + std::uint64_t{2} * distance >= size_;
    }

private:
    template <class F>
    constexpr void whole_level(std::uint64_t d, F&& f) const {
        f(static_cast<rank_t>(d), offsets{d, 2 * d, size_});
    }
    template <class F>
    constexpr void walk(std::uint64_t o, F&& f) const {
        f(static_cast<rank_t>(o & (~o + 1)), offsets{o, walked_, size_});
    }

    rank_t size_;
    std::uint64_t walked_ = 2; // offsets below it are walked one by one; those above in step with them
};

} // namespace bough::detail

#endif
