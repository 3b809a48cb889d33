// SPDX-License-Identifier: BSL-1.0
// Run_via_state: runs a front door on values whose op combines states: lift the values, run on the
// states, lower the results.
#ifndef BOUGH_CALL_VIA_STATE_HPP
#define BOUGH_CALL_VIA_STATE_HPP

#include <bough/call/front_door.hpp>
#include <bough/core/status.hpp>
#include <bough/op/lift.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// `run(states, held)` is the same front door on a std::span of states, in place, with an op that
// lives as long as the operation. `out` is this rank's result; it may be empty.
template <class T, RunsCalls Comm, class O, class Run>
requires LiftedOp<O, T> status run_via_state(Comm& comm, std::span<const T> in, std::span<T> out, const O& op,
                                             Run&& run) {
    return guard_call(comm, [&]() -> status {
        using state = state_of<O, T>;
        if (const status bad = detail::check_data(in.data(), in.size(), sizeof(state))) return comm.refuse(bad);
        const O& held = comm.hold(op);
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
    });
}

} // namespace bough::detail

#endif
