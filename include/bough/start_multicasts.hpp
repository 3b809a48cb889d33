// SPDX-License-Identifier: BSL-1.0
// start_multicasts, bind_multicasts: multicasts in split phase.
//
//   start_multicasts(comm, data, wanted [, choice])
// Arguments and rules are those of bough/multicasts.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_MULTICASTS_HPP
#define BOUGH_START_MULTICASTS_HPP

#include <bough/call/starter.hpp>
#include <bough/multicasts.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_multicasts(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::multicasts_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_multicasts(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::multicasts_forms>(comm,
                                                                                    std::forward<A>(arguments)...);
}

} // namespace bough

#endif
