// SPDX-License-Identifier: BSL-1.0
// start_scatter, bind_scatter, start_scatterv, bind_scatterv: scatter in split phase.
//
//   start_scatter(comm, in, out, root{r} [, choice])           start_scatter(comm, data, root{r} [, choice])
//   start_scatterv(comm, in, out, counts, root{r} [, choice])  start_scatterv(comm, data, counts, root{r} [, choice])
// Arguments and rules are those of bough/scatter.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_SCATTER_HPP
#define BOUGH_START_SCATTER_HPP

#include <bough/call/starter.hpp>
#include <bough/scatter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_scatter(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::scatter_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_scatter(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::scatter_forms>(comm, std::forward<A>(arguments)...);
}

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_scatterv(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::scatterv_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_scatterv(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::scatterv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
