// SPDX-License-Identifier: BSL-1.0
// verify: one constexpr function that proves any plan, at compile time for small groups and at run time
// for any.
//
//   constexpr auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13});
//   static_assert(bough::proven<bough::verify(plan)>());
//
// It proves, for every rank and block:
//   - sends and receives match in number, order and length
//   - there is no deadlock with unbuffered messages (or with `eager_slots` buffered ones per channel)
//   - every contribution reaches every result exactly once
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
#include <bough/schedule/schedule.hpp>
#include <bough/verify/prover.hpp>

#include <span>
#include <type_traits>

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
    return detail::prove_steps(goal, at, options, emit, [&](rank_t r) { return scratch[r]; });
}

// Proves a plan. One that keeps its steps, and has them as `schedules()`, by rank, is not asked to make
// them again.
template <Plan P>
constexpr verdict verify(const P& plan, verify_options options = {}) {
    BOUGH_EXPECTS(!options.hold || options.eager_slots == 0, "hold: only with unbuffered messages");
    const auto prove = [&](const auto& emit) {
        return detail::prove_steps(plan.goal(), detail::dimensions_of(plan), detail::claimed_options(plan, options),
                                   emit, [&plan](rank_t r) { return plan.scratch(r); });
    };
    if constexpr (requires { std::span<const schedule>(plan.schedules()); }) {
        const std::span<const schedule> made = plan.schedules();
        return prove([made](rank_t r, auto&& sink) { sink.push(made[r].steps.data(), made[r].size()); });
    } else {
        return prove([&plan](rank_t r, auto&& sink) { plan.emit(r, sink); });
    }
}

// The same proof at compile time, in as many constant expressions as compilers' limits require:
// static_assert(proven<verify<plan>()>()). `plan` is a constexpr variable of static storage
// duration. What it costs, and how many ranks it can have: doc/howto/compile_time.md.
template <const auto& P>
requires Plan<std::remove_cvref_t<decltype(P)>>
consteval verdict verify() { return detail::verify_constant<detail::copy_of<P>{}>(); }
// The same for a plan that owns memory, such as one over an explicit tree:
// verify<[] { return plan_reduce(...); }>().
template <auto Make>
requires Plan<decltype(Make())>
consteval verdict verify() { return detail::verify_constant<Make>(); }

} // namespace bough

#endif
