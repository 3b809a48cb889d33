// SPDX-License-Identifier: BSL-1.0
// The family of algorithms over a list of levels: an allreduce and a reduce of one bracket class.
//
//   per_level{}                                                any number of ranks, without a model
//   per_level{.levels = best_levels(size, costs, bytes)}       the fastest in the alpha-beta-gamma model
//   per_level{.form = level_form::exchange}                    whole vectors: for short ones; the same bits as halving
#ifndef BOUGH_ALGORITHM_PER_LEVEL_HPP
#define BOUGH_ALGORITHM_PER_LEVEL_HPP

#include <bough/algorithm/allreduce/per_level.hpp>
#include <bough/algorithm/levels.hpp>
#include <bough/algorithm/reduce/per_level.hpp>

namespace bough::inline BOUGH_ABI {

struct per_level {
    level_list levels{}; // empty: steady_levels
    // For an allreduce; exchange: whole vectors, whatever form a level names.
    level_form form = level_form::halving;

    constexpr per_level_allreduce algorithm_for(goal::allreduce) const noexcept { return {levels, form}; }
    constexpr per_level_reduce algorithm_for(goal::reduce) const noexcept { return {levels}; }
    friend constexpr bool operator==(const per_level&, const per_level&) = default;
};

} // namespace bough

#endif
