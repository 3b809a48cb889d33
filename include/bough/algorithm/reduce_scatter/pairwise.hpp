// SPDX-License-Identifier: BSL-1.0
// Reduce_scatter by pairwise exchange: in round i every rank sends rank r + i its block, and gets
// its own from r - i.
//
// Rank order for any number of ranks: the contributions of lower ranks come from near to far and go
// to the left of what is there; then those of higher ranks come from far to near, and are combined
// among themselves first.
//
// Ranks       any
// Op          any associative op: brackets keep rank order
// Rounds      p - 1
// Traffic     a rank sends p - 1 blocks, each straight to its rank
// Combines    p - 1 blocks a rank
// Scratch     two blocks for landing, one for the higher ranks' partial result; all of the rank's own block
// Time        alpha_beta_gamma: (p - 1) (alpha + n / p (beta + gamma))
// Determinism every rank's result is a bracket of its own, the same in every run
// Pre         one block a rank; they may differ in length
// Errors      none of its own
// Source      Rabenseifner 2004, section 2 (ring with increasing stride)
//
// Picture, p = 7, rank 2: block 2 comes from ranks 1 0 6 5 4 3 in turn
//   (0 + (1 + 2)) + (3 + (4 + (5 + 6)))
#ifndef BOUGH_ALGORITHM_REDUCE_SCATTER_PAIRWISE_HPP
#define BOUGH_ALGORITHM_REDUCE_SCATTER_PAIRWISE_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/algorithm/detail/circle.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>

namespace bough::inline BOUGH_ABI {

struct pairwise_reduce_scatter {
    using serves = goals<goal::reduce_scatter>;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const detail::circle around{at.size};
        const slice result{output, rank, 1};
        slice lower = result.in(input); // op over the ranks from some lower rank to this one
        slice upper{};                  // op over the ranks from some higher rank to the last one
        for (rank_t stride = 1; stride < at.size; ++stride) {
            const rank_t to = around.ahead(rank, stride);
            const rank_t from = around.behind(rank, stride);
            const slice landed = result.in(bough::scratch(stride % 2));
            out.send(to, {input, to, 1});
            out.receive(from, landed);
            if (from < rank) {
                out.combine(landed, lower, result);
                lower = result;
            } else if (upper.count == 0) {
                upper = landed;
            } else {
                const slice sum = result.in(bough::scratch(2));
                out.combine(landed, upper, sum);
                upper = sum;
            }
        }
        if (upper.count != 0)
            out.combine(lower, upper, result);
        else if (at.size == 1)
            out.copy(lower, result);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    using text_tells = pairwise_reduce_scatter;
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        const rank_t higher = at.size - 1 - rank;
        return std::min<block_t>(at.size - 1, 2) + (higher >= 2 ? 1 : 0);
    }
    constexpr status check(const dimensions& at) const noexcept { return detail::check_block_per_rank(at); }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr bracket_class bracket(const dimensions&) const noexcept { return {bracket_family("pairwise"), 0}; }
    static constexpr bool may_hold = true;
    friend constexpr bool operator==(const pairwise_reduce_scatter&, const pairwise_reduce_scatter&) = default;
};

} // namespace bough

#endif
