// SPDX-License-Identifier: BSL-1.0
// run_via_state: runs a front door on values whose op combines states: lift the values, run on the
// states, lower the results. An op that lifts and lowers many at a time gets memory that a communicator
// keeps for its next blocking call.
#ifndef BOUGH_CALL_VIA_STATE_HPP
#define BOUGH_CALL_VIA_STATE_HPP

#include <bough/call/front_door.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/op/lift.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class O, class T>
concept LiftsMany = LiftedOp<O, T> && std::is_trivially_copyable_v<state_of<O, T>> &&
    requires(const O& op, std::span<const T> in, std::span<T> out, std::span<state_of<O, T>> states) {
    op.lift_all(in, states);
    op.lower_all(std::span<const state_of<O, T>>(states), out);
};

// May the op run on the values themselves, in a group of so many ranks, with the same result?
template <class T, class O>
constexpr bool needs_no_state(const O& op, rank_t ranks) noexcept {
    if constexpr (requires { op.rounds_once_anyway(ranks); })
        return op.rounds_once_anyway(ranks);
    else
        return false;
}

// `run(states, held)` is the same front door on a std::span of states, in place, with an op that
// lives as long as the operation. `out` is this rank's result; it may be empty.
template <class T, RunsCalls Comm, class O, class Run>
requires LiftedOp<O, T> status run_via_state(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                             Run&& run) {
    return detail::guard_call(comm, [&]() -> status {
        using state = state_of<O, T>;
        if (const status bad = detail::check_data(in.data(), in.size(), sizeof(state))) return comm.refuse(bad);
        const O& held = comm.hold(op);
        if constexpr (LiftsMany<O, T>) {
            constexpr std::size_t line = 64;
            auto&& bytes = comm.template room<std::byte>();
            bytes.resize(in.size() * sizeof(state) + line - 1);
            const std::size_t beyond = reinterpret_cast<std::uintptr_t>(bytes.data()) % line;
            auto* const first = reinterpret_cast<state*>(bytes.data() + (line - beyond) % line);
            const std::span<state> all(first, in.size());
            const auto lift = [&held, all, in] {
                held.lift_all(in, all);
                return status{};
            };
            if (const status bad = comm.before(lift)) return comm.refuse(bad);
            return comm.then(run(all, held), [&held, all, out] {
                if (!out.empty()) held.lower_all(std::span<const state>(all), out);
            });
        } else {
            auto&& states = comm.template room<state>();
            states.reserve(in.size());
            const auto lift = [&held, &states, in] {
                states.clear();
                for (const T& x : in) states.push_back(held.lift(x));
                return status{};
            };
            if (const status bad = comm.before(lift)) return comm.refuse(bad);
            const std::span<state> all(states.data(), in.size());
            return comm.then(run(all, held), [&held, all, out] {
                for (std::size_t i = 0; i != out.size(); ++i) out[i] = held.lower(all[i]);
            });
        }
    });
}

} // namespace bough::detail

#endif
