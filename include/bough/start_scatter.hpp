// SPDX-License-Identifier: BSL-1.0
// start_scatter, bind_scatter, start_scatterv, bind_scatterv: scatter in split phase.
//
//   start_scatter(comm, in, out, root{r} [, choice])           start_scatter(comm, data, root{r} [, choice])
//   start_scatterv(comm, in, out, counts, root{r} [, choice])  start_scatterv(comm, data, counts, root{r} [, choice])
// Arguments and rules are those of bough/scatter.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_SCATTER_HPP
#define BOUGH_START_SCATTER_HPP

#include <bough/detail/starter.hpp>
#include <bough/scatter.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

namespace detail {

struct scatter_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, root from, const Choice& choice = {}) {
        return detail::scatter_in_place<T>(on, data, from, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, root from, const Choice& choice = {}) {
        return detail::run_scatter<T>(on, in, out, from, choice);
    }
};
struct scatterv_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, std::span<const std::size_t> counts, root from,
                       const Choice& choice = {}) {
        return detail::scatterv_in_place<T>(on, data, counts, from, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, std::span<const std::size_t> counts, root from,
                       const Choice& choice = {}) {
        return detail::run_scatterv<T>(on, in, out, counts, from, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::scatter_forms, X, A...>
[[nodiscard]] operation start_scatter(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::scatter_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::scatter_forms, X, A...>
[[nodiscard]] persistent_operation bind_scatter(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::scatter_forms>(comm, std::forward<A>(arguments)...);
}

template <class X, class... A>
requires detail::CollectiveForm<detail::scatterv_forms, X, A...>
[[nodiscard]] operation start_scatterv(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::scatterv_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::scatterv_forms, X, A...>
[[nodiscard]] persistent_operation bind_scatterv(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::scatterv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
