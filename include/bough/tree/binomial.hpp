// SPDX-License-Identifier: BSL-1.0
// The binomial tree, in its two orientations.
//
//   low    the parent clears the lowest set bit: fnomial{2}. Subtrees are contiguous intervals of ranks.
//   high   the parent clears the highest set bit: the same tree with the bits of each rank mirrored.
//          The children of v are v + 2^k for every 2^k > v: partners move further away with every step.
//          Subtrees are not intervals.
//
//   n = 8, in receive order     low  0(1 2(3) 4(5 6(7)))       high  0(4 2(6) 1(5 3(7)))
// Both send the largest subtree first: low the furthest child first (descending k), high the
// nearest (ascending k).
//
// Cost: every query takes O(1) steps and no memory.
#ifndef BOUGH_TREE_BINOMIAL_HPP
#define BOUGH_TREE_BINOMIAL_HPP

#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/tree/fnomial.hpp>

#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// Which bit a rank clears to get its parent; see above.
enum class orientation : std::uint8_t { low, high };

struct binomial {
    bough::orientation orientation = bough::orientation::low;
    constexpr label text() const {
        return orientation == bough::orientation::low ? "binomial" : "binomial{orientation::high}";
    }
    using text_tells = binomial;
    friend constexpr bool operator==(const binomial&, const binomial&) = default;

    // Pre, here and below: v < n, i < child_count(v, n).
    constexpr rank_t parent(rank_t v, rank_t n) const noexcept {
        if (orientation == bough::orientation::low) return fnomial{.degree = 2}.parent(v, n);
        return v == 0 ? no_rank : v ^ std::bit_floor(v);
    }

    constexpr rank_t child_count(rank_t v, rank_t n) const noexcept {
        if (orientation == bough::orientation::low) return fnomial{.degree = 2}.child_count(v, n);
        const rank_t fit = width(n - 1 - v); // v + 2^k < n for k < fit
        return fit > width(v) ? fit - width(v) : 0;
    }

    constexpr rank_t child(rank_t v, rank_t n, rank_t i) const noexcept {
        if (orientation == bough::orientation::low) return fnomial{.degree = 2}.child(v, n, i);
        return v + (rank_t{1} << (width(v) + i));
    }

    constexpr status check() const noexcept { return {}; }

    // Own value first, then the children in receive order: rank order in the low orientation only.
    constexpr bool rank_ordered() const noexcept { return orientation == bough::orientation::low; }

private:
    static constexpr rank_t width(rank_t v) noexcept { return static_cast<rank_t>(std::bit_width(v)); }
};

} // namespace bough

#endif
