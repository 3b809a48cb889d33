// SPDX-License-Identifier: BSL-1.0
// The Bine tree: a binomial tree whose partners are a third nearer.
//
// Ranks are on a ring, with the root a third of the way along an interval that holds them all. In
// each step the interval of a rank that has the data is cut into halves, and the rank sends to its
// mirror image in the other half: over a third of the interval instead of a half of it. So a
// broadcast or a reduce sends less between groups of neighbouring ranks (racks, switches) that are
// not aligned with powers of two, and no more between those that are (bough/schedule/traffic.hpp).
//
//   n = 8, in receive order    0(1 7(6) 3(2 4(5)))     on the interval 6 7 0 1 2 3 4 5
// For powers of two that is the tree of the representation of ranks to the base -2. The largest subtree is sent
// first. Subtrees are intervals of the ring, which may go on at rank 0, so they are no intervals of ranks.
//
// Cost: every query takes O(log n) steps and no memory.
// Source: De Sensi, Bine Trees, SC 2025, arXiv 2508.17311 (powers of two); mirror images for all
// others: bough
#ifndef BOUGH_TREE_BINE_HPP
#define BOUGH_TREE_BINE_HPP

#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct bine {
    constexpr label text() const { return "bine"; }
    using text_tells = bine;
    friend constexpr bool operator==(const bine&, const bine&) = default;

    // Pre, here and below: v < n, i < child_count(v, n).
    constexpr rank_t parent(rank_t v, rank_t n) const noexcept {
        const place at = place_of(v, n);
        return v == 0 ? no_rank : rank_of(at.parent, n);
    }
    constexpr rank_t child_count(rank_t v, rank_t n) const noexcept {
        place at = place_of(v, n);
        rank_t count = 0;
        for (; at.last != at.first; ++count) at.keep();
        return count;
    }
    constexpr rank_t child(rank_t v, rank_t n, rank_t i) const noexcept {
        place at = place_of(v, n);
        for (; i != 0; --i) at.keep();
        return rank_of(at.mirrored(), n);
    }
    constexpr status check() const noexcept { return {}; }
    constexpr bool rank_ordered() const noexcept { return false; }

private:
    // A rank, and the interval that it has to serve; ranks behind the middle of the ring are negative.
    struct place {
        std::int64_t first, last; // both of the interval
        std::int64_t at;
        std::int64_t parent;

        // Pre: first != last. The half with `at` has one more, if they differ.
        constexpr bool is_low() const noexcept { return 2 * at <= first + last; }
        constexpr std::int64_t mirrored() const noexcept {
            const std::int64_t image = first + last - at;
            return image == at ? at + 1 : image; // the middle of an odd number
        }
        constexpr std::int64_t low_end() const noexcept {
            const std::int64_t middle = first + (last - first) / 2; // of an odd number, or below it
            return is_low() || (last - first) % 2 != 0 ? middle : middle - 1;
        }
        // Goes on to the half with `at`.
        constexpr void keep() noexcept {
            const std::int64_t end = low_end();
            (is_low() ? last : first) = is_low() ? end : end + 1;
        }
        // Goes on to the half with its mirror image.
        constexpr void cross() noexcept {
            const std::int64_t end = low_end();
            parent = at;
            const bool was_low = is_low();
            at = mirrored();
            (was_low ? first : last) = was_low ? end + 1 : end;
        }
    };

    constexpr place place_of(rank_t v, rank_t n) const noexcept {
        const std::int64_t size = n;
        place now{.first = -(size / 3), .last = size - 1 - size / 3, .at = 0, .parent = 0};
        const std::int64_t wanted = std::int64_t{v} <= now.last ? std::int64_t{v} : std::int64_t{v} - size;
        while (now.at != wanted) {
            const bool is_below = wanted <= now.low_end();
            is_below == now.is_low() ? now.keep() : now.cross();
        }
        return now;
    }
    static constexpr rank_t rank_of(std::int64_t at, rank_t n) noexcept {
        return static_cast<rank_t>(at < 0 ? at + std::int64_t{n} : at);
    }
};

} // namespace bough

#endif
