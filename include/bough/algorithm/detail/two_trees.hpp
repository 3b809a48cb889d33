// SPDX-License-Identifier: BSL-1.0
// Two binary trees over the same ranks such that no rank has children in both: each carries half of
// a vector.
//
// The N = p - 1 ranks that are not the root, numbered 1 ... N behind it, stand in two heaps: the
// children of place w are the places 2w and 2w + 1, and place 1 is a child of the root. Rank v has
// place v in heap 0. In heap 1 it has place N + 1 - v if N is even; if N is odd, N - v, but rank N
// keeps its place. So the inner places of one heap are leaves of the other.
//
// Every edge has a colour, 0 or 1: the edge to rank v has v mod 2 in heap 0 (but 0 if v = 1), and
// the other one in heap 1. Then the two edges by which a rank is reached differ, as do the two by
// which it sends; so do the root's. If edges of colour 0 carry messages in every other round and
// those of colour 1 in the rounds between, no rank has two messages in or out in a round.
//
//   p = 7        heap 0  0 > 1   1 > 2 3   2 > 4 5   3 > 6           heap 1  0 > 6   6 > 5 4   5 > 3 2   4 > 1
//   colours              0       0 1       0 1       0                       1       0 1       0 1       1
// Source: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35, 2009: the idea, and that there is a colouring. There the trees are
// in-order trees; heaps make the colours simple.
#ifndef BOUGH_ALGORITHM_DETAIL_TWO_TREES_HPP
#define BOUGH_ALGORITHM_DETAIL_TWO_TREES_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// A rank's place in the two trees.
class two_trees {
public:
    // Its children in one of them, in the order in which it sends to them.
    struct family {
        std::array<rank_t, 2> child{};
        rank_t children = 0;
        rank_t parent = no_rank;
        std::uint32_t round = 0; // in which the first of its blocks comes; the root sends it in the next
        block_t first = 0;       // the blocks that it carries
        block_t last = 0;
        constexpr block_t blocks() const noexcept { return last - first; }
    };

    // Pre: at.size >= 2, root and rank below it; at.blocks is a number.
    constexpr two_trees(const dimensions& at, rank_t rank) noexcept
        : others_(at.size - 1), root_(at.root), size_(at.size), rank_(to_virtual(rank, at.root, at.size)) {
        const block_t half = at.blocks - at.blocks / 2;
        tree_[0].last = tree_[1].first = half;
        tree_[1].last = at.blocks;
        for (std::uint32_t t = 0; t != 2; ++t) find_family(t);
    }
    constexpr bool is_root() const noexcept { return rank_ == 0; }
    constexpr const family& operator[](std::uint32_t t) const noexcept { return tree_[t]; }

    // Calls f(tree, block) for each block of both trees, in the order of the rounds in which they
    // come from the root: block j of a tree 2 j rounds after its first.
    template <class F>
    constexpr void for_each_down(F&& f) const {
        merge(tree_[0].round <= tree_[1].round ? 0 : 1, f);
    }
    // The same for a reduction: backwards in time, the tree that comes first goes last.
    template <class F>
    constexpr void for_each_up(F&& f) const {
        merge(tree_[0].round > tree_[1].round ? 0 : 1, f);
    }

private:
    // Its own inverse.
    constexpr rank_t place(std::uint32_t t, rank_t v) const noexcept {
        if (t == 0) return v;
        return others_ % 2 == 0 ? others_ + 1 - v : v == others_ ? v : others_ - v;
    }
    static constexpr std::uint32_t colour(std::uint32_t t, rank_t v) noexcept { return t ^ (v == 1 ? 0 : v % 2); }

    template <class F>
    constexpr void merge(std::uint32_t t, F& f) const {
        const family& early = tree_[t];
        const family& late = tree_[1 - t];
        const block_t lead = (std::max(early.round, late.round) - std::min(early.round, late.round)) / 2;
        for (std::uint64_t j = 0; j < std::uint64_t{lead} + late.blocks() || j < early.blocks(); ++j) {
            if (j < early.blocks()) f(early, early.first + static_cast<block_t>(j));
            if (j >= lead && j - lead < late.blocks()) f(late, late.first + static_cast<block_t>(j - lead));
        }
    }

    // The round in which the first block comes to a place other than the root's.
    constexpr std::uint32_t round_of(std::uint32_t t, rank_t w) const noexcept {
        std::uint32_t round = 1 + t;
        for (std::uint32_t level = static_cast<std::uint32_t>(std::bit_width(w)) - 1; level-- != 0;)
            round += colour(t, place(t, w >> level)) == colour(t, place(t, w >> (level + 1))) ? 2u : 1u;
        return round;
    }

    constexpr void find_family(std::uint32_t t) noexcept {
        family& f = tree_[t];
        const auto add = [&](rank_t v) { f.child[f.children++] = from_virtual(v, root_, size_); };
        if (rank_ == 0) {
            add(place(t, 1));
            f.round = t;
            return;
        }
        const rank_t here = place(t, rank_);
        f.round = round_of(t, here);
        f.parent = here == 1 ? root_ : from_virtual(place(t, here / 2), root_, size_);
        // The next round has the other colour: that child comes first.
        std::array<rank_t, 2> found{};
        rank_t count = 0;
        for (std::uint64_t w = std::uint64_t{here} * 2; w <= std::uint64_t{here} * 2 + 1 && w <= others_; ++w)
            found[count++] = place(t, static_cast<rank_t>(w));
        if (count == 2 && colour(t, found[0]) == colour(t, rank_)) std::swap(found[0], found[1]);
        for (rank_t i = 0; i != count; ++i) add(found[i]);
    }

    rank_t others_; // N
    rank_t root_;
    rank_t size_;
    rank_t rank_; // counted from the root
    std::array<family, 2> tree_{};
};

// Two for each level: then a long vector takes about twice as long as it takes to send it once.
constexpr block_t two_tree_natural_blocks(rank_t size) noexcept {
    return size <= 2 ? 2 : 2 * static_cast<block_t>(std::bit_width(size - 1));
}

} // namespace bough::detail

#endif
