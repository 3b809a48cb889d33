// SPDX-License-Identifier: BSL-1.0
// Adds the allreduces that hide the rank that comes last to the candidates.
//
//   auto from = standard_candidates<goal::allreduce>(at, what);
//   add_late_rank(from, at, what, arrivals_ns);
//   choose(from, at, what, model::arriving{network, arrivals_ns})
//
// They are late_rank_allreduce in several numbers of blocks. A list gets none if two ranks come
// last, or if the vector is too short to be cut. A pure function of its arguments, on which all ranks must
// agree.
// Pre: arrivals_ns has a time for each rank; the list is of allreduce.
#ifndef BOUGH_SELECT_LATE_RANKS_HPP
#define BOUGH_SELECT_LATE_RANKS_HPP

#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/core/contract.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/standard_set.hpp>

#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI {

template <int = 0>
void add_late_rank(candidate_list& made, const dimensions& at, const problem& what,
                   std::span<const std::uint64_t> arrivals_ns) {
    BOUGH_EXPECTS(made.kind == goal::allreduce::kind, "add_late_rank: for allreduce");
    BOUGH_EXPECTS(arrivals_ns.size() == at.size, "arrivals: one time for each rank");
    rank_t last = 0;
    bool alone = true;
    for (rank_t r = 1; r < at.size; ++r) {
        if (arrivals_ns[r] == arrivals_ns[last]) alone = false;
        if (arrivals_ns[r] > arrivals_ns[last]) last = r, alone = true;
    }
    if (at.size < 2 || !alone) return;
    detail::add_segmented(made, late_rank_allreduce{last}, at, what);
}

} // namespace bough

#endif
