// SPDX-License-Identifier: BSL-1.0
// start_multicast, bind_multicast: multicast in split phase.
//
//   start_multicast(comm, data, members, root{r} [, choice])
// Arguments and rules are those of bough/multicast.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_MULTICAST_HPP
#define BOUGH_START_MULTICAST_HPP

#include <bough/detail/starter.hpp>
#include <bough/multicast.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace bough {

namespace detail {

struct multicast_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, std::span<const rank_t> members, root from,
                       const Choice& choice = {}) {
        return detail::run_multicast<T>(on, data, members, from, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::multicast_forms, X, A...>
[[nodiscard]] operation start_multicast(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::multicast_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::multicast_forms, X, A...>
[[nodiscard]] persistent_operation bind_multicast(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::multicast_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
