// SPDX-License-Identifier: BSL-1.0
// Allreduce over a list of levels: 3-2 elimination, direct exchange and the fold, chosen level by level.
//
// Each level is in the form of halving (reduce-scatter upwards, mirrored allgather downwards) or of
// exchange (whole vectors, nothing downwards). See bough/algorithm/levels.hpp for what a level is,
// best_levels.hpp for a choice by costs.
//
// Ranks       any
// Op          any associative op: every element has the same bracket, in rank order
// Rounds      a level of radix f: f - 1, and one more with triples; in the form of halving twice
//             that; a fold: 3. With the default levels: 2 ceil(log2 p), or 2 ceil(log2 p) + 2 at
//             most. That is in step. Where groups of unlike size meet, ranks that run ahead may
//             cost others up to two more
// Traffic     with the default levels a rank sends at most 3 m in all, and 2 (1 - 1/p) m if p is
//             2^n or 3 * 2^n
// Combines    at most 1.5 m a rank with the default levels
// Scratch     one plane, of radix - 1 parts where the largest radix meets
// Time        alpha_beta_gamma: a level in the form of halving, on a vector of v bytes, takes
//             2 (f - 1) (alpha + v beta / f) + (f - 1) v gamma / f;  with triples also 2 alpha + v beta + v gamma / 2;
//             a fold 3 alpha + 2 v beta + v gamma / 2
// Determinism the bracket depends on the levels only: not on form, bytes or blocks
// Errors      levels that do not make one group of all ranks
// Source      Rabenseifner, Traeff 2004, "More efficient reduction algorithms for non-power-of-two
//             number of processors in message-passing parallel systems", EuroPVM/MPI (3-2
//             elimination); Rabenseifner 2004, section 4 (per level)
//
// Picture, p = 7, levels {2, one triple} {3}; parts of the vector 0..5, x+y: op over the ranks x to y
//   triple    1<->2 halves, then 0->1 3-5 and 2->0 0-2     0: 0+2 of 0-2    1: 0+2 of 3-5    2: leaves
//   pairs     3<->4  5<->6                                 3: 3+4 of 0-2    4: 3+4 of 3-5    5: 5+6 of 0-2  ...
//   three     0, 3, 5 share 0-2; 1, 4, 6 share 3-5         0: 0+6 of 0      3: of 1    5: of 2    1: of 3  ...
//   back      thirds among 0, 3, 5 and among 1, 4, 6; halves among 3, 4 and 5, 6 and 0, 1, which both
//             give theirs to 2
#ifndef BOUGH_ALGORITHM_ALLREDUCE_PER_LEVEL_HPP
#define BOUGH_ALGORITHM_ALLREDUCE_PER_LEVEL_HPP

#include <bough/algorithm/detail/levels.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/levels.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <bit>

namespace bough::inline BOUGH_ABI {

struct per_level_allreduce {
    using serves = goals<goal::allreduce>;
    level_list levels{}; // empty: steady_levels, the default
    // exchange: whole vectors at every level, whatever form the level names.
    level_form form = level_form::halving;

    constexpr level_list levels_for(rank_t size) const { return detail::chosen_levels(levels, form, size); }
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const level_list chosen = levels_for(at.size);
        const detail::level_map map(chosen, at.size);
        detail::level_walk walk(map, rank, at.blocks, output, out);
        walk.reduce_scatter();
        walk.allgather();
    }
    constexpr block_t natural_blocks(rank_t size) const { return levels_for(size).parts(); }
    using text_tells = per_level_allreduce;
    constexpr bool symmetric_at(const dimensions& at) const {
        return std::has_single_bit(at.size) && levels_for(at.size).has_only_pairs();
    }
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        if (!levels.empty() && !levels.complete_for(at.size))
            return invalid_argument("levels: they do not make one group of this many ranks");
        return {};
    }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr label text() const {
        const bool whole = form == level_form::exchange;
        return detail::levels_label(whole ? "per_level in exchange" : "per_level", levels);
    }
    constexpr bracket_class bracket(const dimensions& at) const { return level_bracket(levels_for(at.size)); }
    friend constexpr bool operator==(const per_level_allreduce&, const per_level_allreduce&) = default;
};

} // namespace bough

#endif
