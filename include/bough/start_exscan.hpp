// SPDX-License-Identifier: BSL-1.0
// start_exscan, bind_exscan: exscan in split phase.
//
//   start_exscan(comm, data, op [, choice])              in place
//   start_exscan(comm, in, out, op [, choice])
// Arguments and rules are those of bough/exscan.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_EXSCAN_HPP
#define BOUGH_START_EXSCAN_HPP

#include <bough/call/starter.hpp>
#include <bough/exscan.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_exscan(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::exscan_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_exscan(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::exscan_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
