// SPDX-License-Identifier: BSL-1.0
// start_allreduce, bind_allreduce: allreduce in split phase.
//
//   start_allreduce(comm, data, op [, choice])              in place
//   start_allreduce(comm, in, out, op [, choice])
//   start_allreduce(comm, batch [, choice])                 many at once: bough/batch.hpp
// Arguments and rules are those of bough/allreduce.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_ALLREDUCE_HPP
#define BOUGH_START_ALLREDUCE_HPP

#include <bough/allreduce.hpp>
#include <bough/call/starter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_allreduce(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::allreduce_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_allreduce(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::allreduce_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
