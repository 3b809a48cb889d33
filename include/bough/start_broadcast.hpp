// SPDX-License-Identifier: BSL-1.0
// start_broadcast, bind_broadcast: broadcast in split phase.
//
//   start_broadcast(comm, data, root{r} [, choice])
// Arguments and rules are those of bough/broadcast.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_BROADCAST_HPP
#define BOUGH_START_BROADCAST_HPP

#include <bough/broadcast.hpp>
#include <bough/detail/starter.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace bough {

namespace detail {

struct broadcast_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, root from, const Choice& choice = {}) {
        return detail::run_broadcast<T>(on, data, from, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::broadcast_forms, X, A...>
[[nodiscard]] operation start_broadcast(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::broadcast_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::broadcast_forms, X, A...>
[[nodiscard]] persistent_operation bind_broadcast(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::broadcast_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
