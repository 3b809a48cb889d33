// SPDX-License-Identifier: BSL-1.0
// start_alltoall, bind_alltoall, start_alltoallv, bind_alltoallv: alltoall in split phase.
//
//   start_alltoall(comm, in, out [, choice])
//   start_alltoallv(comm, in, send_counts, out, receive_counts [, choice])
// Arguments and rules are those of bough/alltoall.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_ALLTOALL_HPP
#define BOUGH_START_ALLTOALL_HPP

#include <bough/alltoall.hpp>
#include <bough/call/starter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_alltoall(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::alltoall_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_alltoall(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::alltoall_forms>(comm, std::forward<A>(arguments)...);
}

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_alltoallv(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::alltoallv_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_alltoallv(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::alltoallv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
