// SPDX-License-Identifier: BSL-1.0
// The f-nomial tree: each phase joins groups of f neighbouring subtrees into one.
//
// Write ranks in base f. The parent of v is v with its lowest non-zero digit cleared; the digit's
// place is the phase in which v is received. A parent receives at most f-1 children per phase,
// log_f n phases in all. degree 2 is the binomial tree, a degree of n or more the flat tree. Any n.
//
//   degree 3, n = 9, in receive order             phase 0 (stride 1)     phase 1 (stride 3)
//       0(1 2 3(4 5) 6(7 8))                      1,2 -> 0   4,5 -> 3    3,6 -> 0
//                                                 7,8 -> 6
// Children are received phase by phase, ascending within a phase, so the subtree of v is a
// contiguous interval that begins at v. They are sent in the exact reverse, so the largest subtree
// starts first.
//
// Cost: parent, child_count and child take O(log_f n) steps and no memory; O(1) where f is a power
// of two.
// Source: Moody, Fernandez, Petrini, Panda, "Scalable NIC-based Reduction on Large-scale Clusters",
// SC 2003, appendix A.
#ifndef BOUGH_TREE_FNOMIAL_HPP
#define BOUGH_TREE_FNOMIAL_HPP

#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct fnomial {
    rank_t degree = 4;
    constexpr label text() const { return label("fnomial").field("degree", degree); }
    using text_tells = fnomial;
    friend constexpr bool operator==(const fnomial&, const fnomial&) = default;

    // Pre, here and below: degree >= 2, v < n, i < child_count(v, n).
    constexpr rank_t parent(rank_t v, rank_t) const noexcept {
        if (v == 0) return no_rank;
        if (by_bits()) {
            const unsigned at = bits() * trailing_zero_digits(v);
            return v & ~static_cast<rank_t>((std::uint64_t{degree} - 1) << at);
        }
        std::uint64_t stride = 1;
        for (; v % degree == 0; v /= degree) stride *= degree;
        return static_cast<rank_t>((v - v % degree) * stride);
    }

    constexpr rank_t child_count(rank_t v, rank_t n) const noexcept {
        const extent e = extent_of(v, n);
        return e.full * (degree - 1) + e.rest;
    }

    // Counted from the last phase down: the phase that n cuts short, then full ones.
    constexpr rank_t child(rank_t v, rank_t n, rank_t i) const noexcept {
        const extent e = extent_of(v, n);
        if (i < e.rest) return static_cast<rank_t>(v + (e.rest - i) * e.stride);
        i -= e.rest;
        std::uint64_t stride = 0;
        if (by_bits()) {
            stride = std::uint64_t{1} << (bits() * (e.full - 1 - i / (degree - 1)));
            i %= degree - 1;
        } else {
            stride = e.stride / degree;
            // Not by subtracting from i: g++ 12 at -O2 compiles that wrongly where it knows the degree.
            for (rank_t phase = i / (degree - 1); phase != 0; --phase) stride /= degree;
            i %= degree - 1;
        }
        return static_cast<rank_t>(v + (degree - 1 - i) * stride);
    }

    constexpr status check() const noexcept {
        return degree >= 2 ? status{} : invalid_argument("degree: an f-nomial tree needs a degree of at least 2");
    }
    constexpr void expects() const noexcept {
        BOUGH_EXPECTS(degree >= 2, "degree: an f-nomial tree needs a degree of at least 2");
    }

    // Own value first, then the children in receive order: that is rank order.
    constexpr bool rank_ordered() const noexcept { return true; }

private:
    // The children of a rank: degree-1 in each of `full` phases, then `rest`, `stride` =
    // degree^full ranks apart, in one phase that n cuts short.
    struct extent {
        rank_t full;
        rank_t rest;
        std::uint64_t stride;
    };

    constexpr extent extent_of(rank_t v, rank_t n) const noexcept {
        // Ranks above v; phase k has children of v only if degree^k <= above.
        const rank_t above = n - 1 - v;
        if (by_bits()) {
            const unsigned fit = above == 0 ? 0 : (static_cast<unsigned>(std::bit_width(above)) - 1) / bits();
            const unsigned zeros = v == 0 ? 32 : trailing_zero_digits(v);
            if (zeros <= fit) return {zeros, 0, std::uint64_t{1} << (zeros * bits())};
            return {fit, above >> (fit * bits()), std::uint64_t{1} << (fit * bits())};
        }
        std::uint64_t stride = 1;
        rank_t full = 0;
        for (; stride * degree <= above && v % degree == 0; v /= degree) stride *= degree, ++full;
        return {full, v % degree == 0 ? static_cast<rank_t>(above / stride) : 0, stride};
    }

    // Is the degree a power of two? (std::has_single_bit calls a popcount function where there is
    // no instruction.)
    constexpr bool by_bits() const noexcept { return (degree & (degree - 1)) == 0; }
    // If so, the bits per digit.
    constexpr unsigned bits() const noexcept { return static_cast<unsigned>(std::countr_zero(degree)); }
    constexpr unsigned trailing_zero_digits(rank_t v) const noexcept {
        return static_cast<unsigned>(std::countr_zero(v)) / bits();
    }
};

} // namespace bough

#endif
