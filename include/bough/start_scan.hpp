// SPDX-License-Identifier: BSL-1.0
// start_scan, bind_scan: scan in split phase.
//
//   start_scan(comm, data, op [, choice])              in place
//   start_scan(comm, in, out, op [, choice])
// Arguments and rules are those of bough/scan.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_SCAN_HPP
#define BOUGH_START_SCAN_HPP

#include <bough/call/starter.hpp>
#include <bough/scan.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_scan(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::scan_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_scan(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::scan_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
