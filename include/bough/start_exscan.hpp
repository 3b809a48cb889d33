// SPDX-License-Identifier: BSL-1.0
// start_exscan, bind_exscan: exscan in split phase.
//
//   start_exscan(comm, data, op [, choice])              in place
//   start_exscan(comm, in, out, op [, choice])
// Arguments and rules are those of bough/exscan.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_EXSCAN_HPP
#define BOUGH_START_EXSCAN_HPP

#include <bough/detail/starter.hpp>
#include <bough/exscan.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

namespace detail {

struct exscan_forms {
    template <class On, class T, std::size_t N, class O, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, const O& op, const Choice& choice = {}) {
        return detail::run_exscan<T>(on, data, data, op, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, const O& op, const Choice& choice = {}) {
        return detail::run_exscan<T>(on, in, out, op, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::exscan_forms, X, A...>
[[nodiscard]] operation start_exscan(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::exscan_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::exscan_forms, X, A...>
[[nodiscard]] persistent_operation bind_exscan(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::exscan_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
