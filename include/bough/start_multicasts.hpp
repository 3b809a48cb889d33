// SPDX-License-Identifier: BSL-1.0
// start_multicasts, bind_multicasts: multicasts in split phase.
//
//   start_multicasts(comm, data, wanted [, choice])
// Arguments and rules are those of bough/multicasts.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_MULTICASTS_HPP
#define BOUGH_START_MULTICASTS_HPP

#include <bough/detail/starter.hpp>
#include <bough/multicasts.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace bough {

namespace detail {

struct multicasts_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, std::span<const multicast_request> wanted,
                       const Choice& choice = {}) {
        return detail::run_multicasts<T>(on, data, wanted, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::multicasts_forms, X, A...>
[[nodiscard]] operation start_multicasts(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::multicasts_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::multicasts_forms, X, A...>
[[nodiscard]] persistent_operation bind_multicasts(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::multicasts_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
