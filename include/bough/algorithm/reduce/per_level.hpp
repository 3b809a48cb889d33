// SPDX-License-Identifier: BSL-1.0
// Reduce over a list of levels: reduce-scatter upwards, then a gather to the root along the same tuples.
//
// Ranks       any, any root: where the root would be eliminated, it changes roles with its
//             neighbour, at no cost
// Op          any associative op: every element has the same bracket, in rank order
// Rounds      a level of radix f: 2 (f - 1), one more with triples, two more with a fold; with the
//             default levels at most 2 ceil(log2 p) + 1
// Traffic     the root sends less than 1.5 m, and receives m in the gather
// Combines    at most 1.5 m a rank with the default levels
// Scratch     one plane, of radix - 1 parts where the largest radix meets; on ranks other than the
//             root one more to accumulate in
// Time        alpha_beta_gamma: as the allreduce's, with one-directional messages in the gather and
//             none given back
// Determinism the bracket is that of the allreduce over the same levels, whatever the root
// Errors      levels that do not make one group of all ranks; levels in the form of exchange
// Source      as bough/algorithm/allreduce/per_level.hpp; the gather and the change of roles:
//             Rabenseifner 2004, section 2.5
//
// Picture, p = 7, root 2, levels {2, one triple} {3}: ranks 1 and 2 change roles, so 1 leaves in the triple
//   upwards   0: 0+6 of 0    3: of 1    5: of 2    2: of 3    4: of 4    6: of 5    (parts of the vector 0..5)
//   gather    3, 5 -> 0 (its role is not the root's, but its third is)   4, 6 -> 2   then 0 -> 2
#ifndef BOUGH_ALGORITHM_REDUCE_PER_LEVEL_HPP
#define BOUGH_ALGORITHM_REDUCE_PER_LEVEL_HPP

#include <bough/algorithm/detail/levels.hpp>
#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/algorithm/levels.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>

namespace bough::inline BOUGH_ABI {

struct per_level_reduce {
    using serves = goals<goal::reduce>;
    level_list levels{}; // empty: steady_levels, the default

    constexpr level_list levels_for(rank_t size) const {
        return detail::chosen_levels(levels, level_form::halving, size);
    }
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const level_list chosen = levels_for(at.size);
        const detail::level_map map(chosen, at.size, at.root);
        rank_t planes = 1; // to land in
        for (const level& l : chosen) planes = std::max(planes, l.radix - 1);
        detail::level_walk walk(map, rank, at.blocks, rank == at.root ? output : bough::scratch(planes), out);
        walk.reduce_scatter();
        walk.gather(at.root);
    }
    constexpr block_t natural_blocks(rank_t size) const { return levels_for(size).parts(); }
    using text_tells = per_level_reduce;
    static constexpr bool steady_in_ranks = true;
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const noexcept {
        for (const level& l : levels)
            if (l.form == level_form::exchange)
                return invalid_argument("levels: a reduce has the form of halving only");
        if (!levels.empty() && !levels.complete_for(at.size))
            return invalid_argument("levels: they do not make one group of this many ranks");
        return {};
    }
    constexpr bool keeps_rank_order(const dimensions&) const noexcept { return true; }
    constexpr label text() const { return detail::levels_label("per_level", levels); }
    constexpr bracket_class bracket(const dimensions& at) const { return level_bracket(levels_for(at.size)); }
    friend constexpr bool operator==(const per_level_reduce&, const per_level_reduce&) = default;
};

} // namespace bough

#endif
