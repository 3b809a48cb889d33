// SPDX-License-Identifier: BSL-1.0
// RunsPlans, RunsCalls: what a front door runs on. That is a communicator, which runs the operation
// and waits, or an initiator (bough/call/initiator.hpp), which starts it and returns. A
// contiguous_call (bough/call/contiguous_call.hpp) wraps either and runs plans only.
#ifndef BOUGH_CALL_RUNS_CALLS_HPP
#define BOUGH_CALL_RUNS_CALLS_HPP

#include <bough/communicator.hpp>
#include <bough/concepts/members.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/engine/call.hpp>
#include <bough/schedule/goal.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// A plan with nothing but what the concept asks for: any will do to ask what runs plans.
struct any_plan {
    goal::barrier goal() const;
    rank_t size() const;
    rank_t root() const;
    block_t blocks() const;
    block_t scratch(rank_t) const;
    void emit(rank_t, null_sink&) const;
};

// The problem that a choice is made for is that of its transport, unless it states its own
// (problem_of in front_door.hpp).
template <class C>
concept HasTransport = requires(C& on) {
    requires Transport<std::remove_cvref_t<decltype(on.transport())>>;
};
template <class C>
concept StatesProblem = requires(const C& on, std::uint8_t size_class, bool exact_op) {
    on.problem_of(size_class, exact_op);
};

template <class C>
concept RunsPlans = HasRank<C> &&
    (HasTransport<C> || StatesProblem<C>)&&requires(C& on, const C& same, const choice_key& key,
                                                    std::shared_ptr<const any_plan> (*choose)(), const any_plan& plan,
                                                    const call& made, const call_signature& signature,
                                                    const status& why) {
    { same.options() } -> std::same_as<const communicator_options&>;
    // What choose() gave first for this key.
    { on.template remember_plan<any_plan>(key, choose) } -> std::same_as<const any_plan*>;
    // An equal plan that is kept bound; null: none.
    { on.find_bound(plan) } -> std::same_as<const any_plan*>;
    { on.run(plan, made, signature) } -> std::same_as<status>;
    { on.refuse(why) } -> std::same_as<status>;
};

// In each run, a persistent operation calls again what before() and then() were given.
template <class C>
concept RunsCalls = RunsPlans<C> && HasSize<C> && HasTransport<C> &&
    requires(C& on, const status& said, status (*make_ready)(), void (*make_result)(), const call& kept) {
    { on.hold(kept) } -> std::same_as<const call&>; // valid as long as the operation lives
    on.template room<int>();                        // an empty vector that lives as long; use auto&&
    { on.before(make_ready) } -> std::same_as<status>;
    { on.then(said, make_result) } -> std::same_as<status>;
};

// Knows when ranks come to calls (communicator_options::follow_arrivals).
template <class C>
concept FollowsArrivals = RunsCalls<C> && requires(C& on, std::uint64_t bytes, followed_call& its) {
    // Is an allreduce of so many bytes followed?
    { on.follows(bytes) } -> std::same_as<bool>;
    { on.followed().enter(its) } -> std::same_as<status>;
};

// Runs blocking calls: one that equals an earlier one can be run again without a choice.
template <class C>
concept RepeatsCalls = RunsPlans<C> && requires(C& on, const repeat_key& key, const call& c, repeated_call& again) {
    { on.find_repeated(key) } -> std::same_as<repeated_call*>;
    on.keep_repeated(key, c);
    { on.run_repeated(again) } -> std::same_as<status>;
};

} // namespace bough::detail

#endif
