// SPDX-License-Identifier: BSL-1.0
// The standard candidates: the algorithms among which the automatic choice chooses. One header per
// collective in bough/select/standard/ says which algorithms of bough may be the best at some size,
// and in which forms: blocks, degrees, ports.
//
//   #include <bough/select/standard/allreduce.hpp>
//   standard_candidates<goal::allreduce>({.size = 13}, {.bytes = 65536})
#ifndef BOUGH_SELECT_STANDARD_SET_HPP
#define BOUGH_SELECT_STANDARD_SET_HPP

#include <bough/algorithm/tree_source.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/two_levels.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

// Each header in standard/ specialises it with a function add(auto& list, at, what). The list is a
// candidate_list. It may have add_for_any_partition and add_in_order, too, for what is worth a look
// only where that is required, and add_for_costs(auto& list, at, what, costs) for what is worth a look
// only where costs differ between ranks. `auto` makes the function a template, so that a program compiles
// the candidates only if it leaves the choice to the library.
template <class Goal>
struct standard_set;

// The standard candidates for a goal, with those that are worth a look only where something is needed, or
// where ranks differ by these costs. A pure function of its arguments, on which all ranks agree.
template <class Goal>
candidate_list standard_candidates(const dimensions& at, const problem& what, const requirements& needed = {},
                                   const any_cost_model& costs = {}) {
    candidate_list made{Goal::kind, {}};
    made.list.reserve(32);
    standard_set<Goal>::add(made, at, what);
    if constexpr (requires { standard_set<Goal>::add_for_any_partition(made, at, what); })
        if (needed.any_partition) standard_set<Goal>::add_for_any_partition(made, at, what);
    if constexpr (requires { standard_set<Goal>::add_in_order(made, at, what); })
        if (needed.order_preserving) standard_set<Goal>::add_in_order(made, at, what);
    if constexpr (requires { standard_set<Goal>::add_for_costs(made, at, what, costs); })
        if (costs && !costs.homogeneous()) standard_set<Goal>::add_for_costs(made, at, what, costs);
    if (what.levels != nullptr) what.levels->add(made, at, what);
    return made;
}

namespace detail {

// Plans in which each rank sends to all others are candidates up to this many ranks. Their messages
// grow with the square of the ranks.
inline constexpr rank_t most_at_once = 32;

// Is there a gain in combining what all ranks contribute at once?
constexpr bool may_combine_in_series(const dimensions& at, const problem& what) noexcept {
    return what.narrowing > 1 && at.size > 1 && at.size <= most_at_once;
}

// In ordered{shape}, the ranks below the root and those above it each have a tree. This is how many
// ranks the larger tree has, with the root. An fnomial of one degree less than that is flat.
constexpr rank_t widest_side(const dimensions& at) noexcept { return std::max(at.root, at.size - 1 - at.root) + 1; }

// Adds trees whose subtrees are intervals of ranks for any root, so that blocks travel in one
// piece. Algorithm is an algorithm over a tree source, such as tree_gather<ordered<fnomial>>.
template <class Algorithm>
void add_interval_trees(candidate_list& made, const dimensions& at) {
    using shape = ordered<fnomial>;
    for (const rank_t degree : {2u, 3u, 4u, 8u})
        if (degree + 1 < widest_side(at)) made.add(Algorithm{shape{{degree}}});
    made.add(Algorithm{shape{{at.size < 2 ? 2 : at.size}}}); // straight to the root, or from it
}

// Adds an algorithm that pipelines blocks, with a few numbers of blocks of at least about 512
// bytes: 2, 8, then each number twice the one before. With many ranks it is four times: to be off
// by a factor of two costs less than to look at them all.
template <class A>
void add_segmented(candidate_list& made, const A& algorithm, const dimensions& at, const problem& what,
                   block_t most = 1024) {
    for (block_t blocks = 2; blocks <= most && what.bytes / blocks >= 512; blocks *= blocks < 8 || at.size > 64 ? 4 : 2)
        made.add(algorithm, blocks);
}

} // namespace detail

} // namespace bough

#endif
