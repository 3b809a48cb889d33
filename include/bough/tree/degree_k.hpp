// SPDX-License-Identifier: BSL-1.0
// The degree-k tree: a parent receives from at most k peers per step. Not the k-ary tree (see kary.hpp).
//
// With k peers per step one step multiplies what a subtree covers by k+1, so this is the
// (k+1)-nomial tree. Gupta defines it where k+1 and n are powers of two; here k and n are free.
//
//   k = 3, n = 6, in receive order    0(1 2 3 4(5))     step 0: 1,2,3 -> 0   5 -> 4     step 1: 4 -> 0
// Send order, cost and rank order are those of fnomial.
// Source: Gupta, Balaji, Panda, Nieplocha, "Efficient Collective Operations using Remote Memory
// Operations on VIA-Based Clusters", OSU-CISRC-1/03-TR03, 2003, section on the degree-k reduce.
#ifndef BOUGH_TREE_DEGREE_K_HPP
#define BOUGH_TREE_DEGREE_K_HPP

#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/tree/fnomial.hpp>

namespace bough::inline BOUGH_ABI {

struct degree_k {
    rank_t k = 3;
    constexpr label text() const { return label("degree_k").field("k", k); }
    using text_tells = degree_k;
    friend constexpr bool operator==(const degree_k&, const degree_k&) = default;

    // Pre, here and below: k >= 1, v < n, i < child_count(v, n).
    constexpr rank_t parent(rank_t v, rank_t n) const noexcept { return shape().parent(v, n); }
    constexpr rank_t child_count(rank_t v, rank_t n) const noexcept { return shape().child_count(v, n); }
    constexpr rank_t child(rank_t v, rank_t n, rank_t i) const noexcept { return shape().child(v, n, i); }

    constexpr status check() const noexcept {
        return k >= 1 ? status{} : invalid_argument("k: a degree-k tree needs a k of at least 1");
    }
    constexpr void expects() const noexcept { BOUGH_EXPECTS(k >= 1, "k: a degree-k tree needs a k of at least 1"); }

    constexpr bool rank_ordered() const noexcept { return true; }

private:
    // The largest k has no k+1 in a rank_t; both degrees are beyond every n, so the tree is flat
    // either way.
    constexpr fnomial shape() const noexcept { return {.degree = k == no_rank ? no_rank : k + 1}; }
};

} // namespace bough

#endif
