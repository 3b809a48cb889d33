// SPDX-License-Identifier: BSL-1.0
// start_reduce, bind_reduce: reduce in split phase.
//
//   start_reduce(comm, data, op, root{r} [, choice])        in place at the root
//   start_reduce(comm, in, out, op, root{r} [, choice])
//   start_reduce(comm, batch, root{r} [, choice])           many at once: bough/batch.hpp
// Arguments and rules are those of bough/reduce.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_REDUCE_HPP
#define BOUGH_START_REDUCE_HPP

#include <bough/call/starter.hpp>
#include <bough/reduce.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::CalledOn C, class... A>
[[nodiscard]] operation start_reduce(C&& comm, A&&... arguments) {
    return detail::start_collective<operation, detail::reduce_forms>(comm, std::forward<A>(arguments)...);
}
template <detail::CalledOn C, class... A>
[[nodiscard]] persistent_operation bind_reduce(C&& comm, A&&... arguments) {
    return detail::start_collective<persistent_operation, detail::reduce_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
