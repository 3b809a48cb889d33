// SPDX-License-Identifier: BSL-1.0
// run_in_series: runs a front door with an op on states that can also combine what all ranks contribute at
// once: then the values themselves travel, and no rank ever sends a state.
//
//   op.template combine_many<T>(operands, size, out, count)    lifts, combines in this order, and lowers,
//                                                              `count` values at any address each
//
// The plan must combine in series (bough/schedule/series.hpp). automatic{} takes one if it costs less than
// every plan on states (problem::narrowing); all ranks see the same prices.
#ifndef BOUGH_CALL_IN_SERIES_HPP
#define BOUGH_CALL_IN_SERIES_HPP

#include <bough/call/front_door.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/wire.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <class O, class T>
concept CombinesMany = LiftedOp<O, T> && travels_as_bytes_v<T> && travels_as_bytes_v<state_of<O, T>> &&
    requires(const O& op, const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count) {
    op.template combine_many<T>(operands, size, out, count);
};

// A combine_many_function (bough/op/any_op.hpp).
template <class O, class T>
requires CombinesMany<O, T>
void combine_many_bytes(const void* state, const std::byte* const* operands, std::size_t size, std::byte* out,
                        std::size_t count) {
    static_cast<const O*>(state)->template combine_many<T>(operands, size, out, count);
}

// Does the plan or algorithm that the caller chose combine in series?
template <class Goal, class Choice>
bool chosen_in_series([[maybe_unused]] const Choice& choice) {
    if constexpr (is_plan<Choice>::value)
        return combines_in_series(choice.algorithm());
    else if constexpr (ServesGoal<Choice, Goal>)
        return combines_in_series(bough::algorithm_for<Goal>(choice));
    else
        return false; // a tree source
}

// Pre: chosen_in_series(choice).
template <class Goal, RunsCalls Comm, class T, class Choice>
status run_choice_in_series([[maybe_unused]] Comm& comm, [[maybe_unused]] const typed_call<T>& typed,
                            [[maybe_unused]] const Choice& choice) {
    if constexpr (is_plan<Choice>::value || ServesGoal<Choice, Goal>)
        return detail::run_choice<Goal>(comm, typed, choice, [](const auto& c) { return c; });
    else
        return {}; // a tree source
}

// Runs the call if its plan combines in series, and sets `result`. False: it must run on states. `typed`
// has no op yet.
template <class Goal, RunsCalls Comm, class T, class O, class Choice>
requires CombinesMany<O, T>
bool run_in_series(Comm& comm, typed_call<T>& typed, const O& op, const Choice& choice, status& result) {
    if (comm.size() == 1) return false; // there is nothing to combine, but there may be something to scale
    bool runs = true;
    const status said = guard_call(comm, [&]() -> status {
        typed.commutative = is_commutative_v<O>;
        typed.combine_many = &combine_many_bytes<O, T>;
        if constexpr (std::same_as<Choice, automatic>) {
            using state = state_of<O, T>;
            constexpr auto narrowing = static_cast<std::uint32_t>(wire_size_v<state> / wire_size_v<T>);
            typed.exact = is_exact_v<O, state>;
            const std::uint8_t size_class = size_class_of(typed.count * wire_size_v<state>);
            const auto* best = choice.late_ranks
                                   ? nullptr
                                   : detail::automatic_plan<Goal>(comm, typed, size_class, choice.required, narrowing);
            runs = best != nullptr && combines_in_series(best->algorithm());
            if (!runs) return {};
            typed.op.state = &comm.hold(op);
            return run_typed(comm, *best, typed);
        } else {
            runs = detail::chosen_in_series<Goal>(choice);
            if (!runs) return {};
            typed.op.state = &comm.hold(op);
            return detail::run_choice_in_series<Goal>(comm, typed, choice);
        }
    });
    if (runs || said) result = said;
    return runs || said;
}

} // namespace bough::detail

#endif
