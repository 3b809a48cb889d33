// SPDX-License-Identifier: BSL-1.0
// The k-ary tree in heap numbering: every parent has at most `arity` children, level by level from
// the left.
//
//   arity 2, n = 7, in receive order     0(2(6 5) 1(4 3))
// The children of v are arity*v + 1 .. arity*v + arity. They are sent ascending, since the left
// subtree is never smaller than the one to its right. Subtrees are not intervals of ranks, except
// with arity 1, the chain.
//
// Cost: every query takes O(1) steps and no memory. Depth log_arity n.
#ifndef BOUGH_TREE_KARY_HPP
#define BOUGH_TREE_KARY_HPP

#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct kary {
    rank_t arity = 2;
    constexpr label text() const { return label("kary").field("arity", arity); }
    using text_tells = kary;
    friend constexpr bool operator==(const kary&, const kary&) = default;

    // Pre, here and below: arity >= 1, v < n, i < child_count(v, n).
    constexpr rank_t parent(rank_t v, rank_t) const noexcept { return v == 0 ? no_rank : (v - 1) / arity; }

    constexpr rank_t child_count(rank_t v, rank_t n) const noexcept {
        const std::uint64_t first = first_child(v);
        if (first >= n) return 0;
        const rank_t room = n - static_cast<rank_t>(first);
        return room < arity ? room : arity;
    }

    constexpr rank_t child(rank_t v, rank_t, rank_t i) const noexcept {
        return static_cast<rank_t>(first_child(v) + i);
    }

    constexpr status check() const noexcept {
        return arity >= 1 ? status{} : invalid_argument("arity: a k-ary tree needs an arity of at least 1");
    }
    constexpr void expects() const noexcept {
        BOUGH_EXPECTS(arity >= 1, "arity: a k-ary tree needs an arity of at least 1");
    }

    constexpr bool rank_ordered() const noexcept { return arity == 1; }

private:
    constexpr std::uint64_t first_child(rank_t v) const noexcept { return std::uint64_t{arity} * v + 1; }
};

} // namespace bough

#endif
