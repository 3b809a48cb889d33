// SPDX-License-Identifier: BSL-1.0
// start_gather, bind_gather, start_gatherv, bind_gatherv: gather in split phase.
//
//   start_gather(comm, in, out, root{r} [, choice])           start_gather(comm, data, root{r} [, choice])
//   start_gatherv(comm, in, out, counts, root{r} [, choice])  start_gatherv(comm, data, counts, root{r} [, choice])
// Arguments and rules are those of bough/gather.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_GATHER_HPP
#define BOUGH_START_GATHER_HPP

#include <bough/detail/starter.hpp>
#include <bough/gather.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

namespace detail {

struct gather_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, root to, const Choice& choice = {}) {
        return detail::gather_in_place<T>(on, data, to, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, root to, const Choice& choice = {}) {
        return detail::run_gather<T>(on, in, out, to, choice);
    }
};
struct gatherv_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, std::span<const std::size_t> counts, root to,
                       const Choice& choice = {}) {
        return detail::gatherv_in_place<T>(on, data, counts, to, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, std::span<const std::size_t> counts, root to,
                       const Choice& choice = {}) {
        return detail::run_gatherv<T>(on, in, out, counts, to, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::gather_forms, X, A...>
[[nodiscard]] operation start_gather(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::gather_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::gather_forms, X, A...>
[[nodiscard]] persistent_operation bind_gather(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::gather_forms>(comm, std::forward<A>(arguments)...);
}

template <class X, class... A>
requires detail::CollectiveForm<detail::gatherv_forms, X, A...>
[[nodiscard]] operation start_gatherv(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::gatherv_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::gatherv_forms, X, A...>
[[nodiscard]] persistent_operation bind_gatherv(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::gatherv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
