// SPDX-License-Identifier: BSL-1.0
// start_barrier, bind_barrier: barrier in split phase.
//
//   start_barrier(comm [, choice])        it ends when every rank has started it
// Arguments and rules are those of bough/barrier.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_BARRIER_HPP
#define BOUGH_START_BARRIER_HPP

#include <bough/barrier.hpp>
#include <bough/call/starter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_barrier(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::barrier_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_barrier(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::barrier_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
