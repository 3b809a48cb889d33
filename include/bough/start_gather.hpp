// SPDX-License-Identifier: BSL-1.0
// start_gather, bind_gather, start_gatherv, bind_gatherv: gather in split phase.
//
//   start_gather(comm, in, out, root{r} [, choice])           start_gather(comm, data, root{r} [, choice])
//   start_gatherv(comm, in, out, counts, root{r} [, choice])  start_gatherv(comm, data, counts, root{r} [, choice])
// Arguments and rules are those of bough/gather.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_GATHER_HPP
#define BOUGH_START_GATHER_HPP

#include <bough/call/starter.hpp>
#include <bough/gather.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_gather(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::gather_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_gather(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::gather_forms>(comm, std::forward<A>(arguments)...);
}

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_gatherv(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::gatherv_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_gatherv(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::gatherv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
