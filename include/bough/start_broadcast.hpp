// SPDX-License-Identifier: BSL-1.0
// start_broadcast, bind_broadcast: broadcast in split phase.
//
//   start_broadcast(comm, data, root{r} [, choice])
// Arguments and rules are those of bough/broadcast.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_BROADCAST_HPP
#define BOUGH_START_BROADCAST_HPP

#include <bough/broadcast.hpp>
#include <bough/call/starter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_broadcast(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::broadcast_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_broadcast(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::broadcast_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
