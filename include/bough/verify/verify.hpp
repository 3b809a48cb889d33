// SPDX-License-Identifier: BSL-1.0
// verify: one constexpr function that proves any plan, at compile time for small groups and at run time
// for any.
//
//   constexpr auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13});
//   static_assert(bough::proven<bough::verify(plan)>());
//
// It proves, for every rank and block:
//   - sends and receives match in number, order and length
//   - there is no deadlock with unbuffered messages (or with `eager_slots` buffered ones per
//   channel) - every contribution reaches every result exactly once
//   - nothing is read before it is written, and the caller's input is not written
//   - the plan is right in place and out of place
//   - scratch stays within what the algorithm declares
//   - results are in rank order, and have equal bits, if the algorithm or its shape claims that
//     (keeps_rank_order, rank_ordered, rank_consistent; bough/verify/verify_claims.hpp has the
//     other claims)
// On the way it computes the traits (bough/schedule/traits.hpp). Time and memory: linear in the blocks
// that all steps touch, times the ranges of ranks in a bracket (1 or 2 for trees); time also in how
// often a round passes a message over that waits for its port, as the port at the other end is used. A
// plane of scratch counts from the first to the last of its blocks that are touched.
#ifndef BOUGH_VERIFY_VERIFY_HPP
#define BOUGH_VERIFY_VERIFY_HPP

#include <bough/schedule/plan.hpp>
#include <bough/verify/prover.hpp>

#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Proves schedules that come from elsewhere; `schedules[r]` has rank r's steps. Pre: at.blocks is a
// number, not natural_blocks; there is one schedule and one scratch limit (in blocks) per rank.
template <class Goal>
constexpr verdict verify_schedules(const Goal& goal, const dimensions& at, std::span<const schedule> schedules,
                                   std::span<const block_t> scratch, verify_options options = {}) {
    BOUGH_EXPECTS(at.blocks != natural_blocks, "blocks: say how many");
    BOUGH_EXPECTS(schedules.size() == at.size, "schedules: one per rank is needed");
    BOUGH_EXPECTS(scratch.size() == at.size, "scratch: one limit per rank is needed");
    BOUGH_EXPECTS(!options.hold || options.eager_slots == 0, "hold: only with unbuffered messages");
    const auto emit = [&](rank_t r, auto&& sink) { sink.push(schedules[r].steps.data(), schedules[r].size()); };
    return detail::prove(goal, at, options, emit, [&](rank_t r) { return scratch[r]; });
}

// A plan that keeps its steps, and has them as `schedules()`, by rank, is not asked to make them again.
template <Plan P>
constexpr verdict verify(const P& plan, verify_options options = {}) {
    BOUGH_EXPECTS(!options.hold || options.eager_slots == 0, "hold: only with unbuffered messages");
    if constexpr (requires {
                      plan.algorithm();
                      plan.at();
                  }) {
        options.in_rank_order |= keeps_rank_order(plan.algorithm(), plan.at());
        if constexpr (requires { plan.algorithm().rank_consistent(plan.at()); })
            options.same_bits |= plan.algorithm().rank_consistent(plan.at());
    }
    const dimensions at{plan.size(), plan.root(), plan.blocks()};
    const auto scratch = [&plan](rank_t r) { return plan.scratch(r); };
    if constexpr (requires { std::span<const schedule>(plan.schedules()); }) {
        const std::span<const schedule> made = plan.schedules();
        const auto emit = [made](rank_t r, auto&& sink) { sink.push(made[r].steps.data(), made[r].size()); };
        return detail::prove(plan.goal(), at, options, emit, scratch);
    } else {
        const auto emit = [&plan](rank_t r, auto&& sink) { plan.emit(r, sink); };
        return detail::prove(plan.goal(), at, options, emit, scratch);
    }
}

} // namespace bough

#endif
