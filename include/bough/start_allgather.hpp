// SPDX-License-Identifier: BSL-1.0
// start_allgather, bind_allgather, start_allgatherv, bind_allgatherv: allgather in split phase.
//
//   start_allgather(comm, in, out [, choice])            start_allgather(comm, data [, choice])
//   start_allgatherv(comm, in, out, counts [, choice])   start_allgatherv(comm, data, counts [, choice])
// Arguments and rules are those of bough/allgather.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_ALLGATHER_HPP
#define BOUGH_START_ALLGATHER_HPP

#include <bough/allgather.hpp>
#include <bough/call/starter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_allgather(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::allgather_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_allgather(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::allgather_forms>(comm, std::forward<A>(arguments)...);
}

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_allgatherv(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::allgatherv_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_allgatherv(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::allgatherv_forms>(comm,
                                                                                    std::forward<A>(arguments)...);
}

} // namespace bough

#endif
