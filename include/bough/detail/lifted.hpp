// SPDX-License-Identifier: BSL-1.0
// Run_lifted: a front door on values whose op combines states: lift, run on the states, lower.
#ifndef BOUGH_DETAIL_LIFTED_HPP
#define BOUGH_DETAIL_LIFTED_HPP

#include <bough/core/status.hpp>
#include <bough/detail/front_door.hpp>
#include <bough/op/lift.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace bough::detail {

// `run(states)` is the same front door on a std::span of states, in place. `out` is what this rank gets: maybe nothing.
template <class X, class T, class O, class Run>
requires LiftedOp<O, T> status run_lifted(communicator<X>& comm, std::span<const T> in, std::span<T> out, const O& op,
                                          Run&& run) {
    return guard_call(comm, [&]() -> status {
        using state = state_of<O, T>;
        if (const status bad = check_data(in.data(), in.size(), sizeof(state))) return comm.refuse(bad);
        std::vector<state> states;
        states.reserve(in.size());
        for (const T& x : in) states.push_back(op.lift(x));
        const status s = run(std::span<state>(states));
        for (std::size_t i = 0; !s && i != out.size(); ++i) out[i] = op.lower(states[i]);
        return s;
    });
}

} // namespace bough::detail

#endif
