// SPDX-License-Identifier: BSL-1.0
// start_multicast, bind_multicast: multicast in split phase.
//
//   start_multicast(comm, data, members, root{r} [, choice])
// Arguments and rules are those of bough/multicast.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_MULTICAST_HPP
#define BOUGH_START_MULTICAST_HPP

#include <bough/call/starter.hpp>
#include <bough/multicast.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_multicast(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::multicast_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_multicast(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::multicast_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
