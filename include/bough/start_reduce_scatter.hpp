// SPDX-License-Identifier: BSL-1.0
// start_reduce_scatter, bind_reduce_scatter, start_reduce_scatterv, bind_reduce_scatterv: reduce_scatter in split phase.
//
//   start_reduce_scatter(comm, in, out, op [, choice])            start_reduce_scatter(comm, data, op [, choice])
//   start_reduce_scatterv(comm, in, out, counts, op [, choice])   start_reduce_scatterv(comm, data, counts, op [, choice])
// Arguments and rules are those of bough/reduce_scatter.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_REDUCE_SCATTER_HPP
#define BOUGH_START_REDUCE_SCATTER_HPP

#include <bough/call/starter.hpp>
#include <bough/reduce_scatter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_reduce_scatter(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::reduce_scatter_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_reduce_scatter(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::reduce_scatter_forms>(comm,
                                                                                        std::forward<A>(arguments)...);
}

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_reduce_scatterv(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::reduce_scatterv_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_reduce_scatterv(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::reduce_scatterv_forms>(comm,
                                                                                         std::forward<A>(arguments)...);
}

} // namespace bough

#endif
