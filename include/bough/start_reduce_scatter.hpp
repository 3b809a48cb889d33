// SPDX-License-Identifier: BSL-1.0
// start_reduce_scatter, bind_reduce_scatter, start_reduce_scatterv, bind_reduce_scatterv: reduce_scatter in split phase.
//
//   start_reduce_scatter(comm, in, out, op [, choice])            start_reduce_scatter(comm, data, op [, choice])
//   start_reduce_scatterv(comm, in, out, counts, op [, choice])   start_reduce_scatterv(comm, data, counts, op [, choice])
// Arguments and rules are those of bough/reduce_scatter.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_REDUCE_SCATTER_HPP
#define BOUGH_START_REDUCE_SCATTER_HPP

#include <bough/detail/starter.hpp>
#include <bough/reduce_scatter.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

namespace detail {

struct reduce_scatter_forms {
    template <class On, class T, std::size_t N, class O, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, const O& op, const Choice& choice = {}) {
        return detail::reduce_scatter_in_place<T>(on, data, op, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, const O& op, const Choice& choice = {}) {
        return detail::run_reduce_scatter<T>(on, in, out, op, choice);
    }
};
struct reduce_scatterv_forms {
    template <class On, class T, std::size_t N, class O, class Choice = automatic>
    requires NotCounts<O>
    static status call(On& on, std::span<T, N> data, std::span<const std::size_t> counts, const O& op,
                       const Choice& choice = {}) {
        return detail::reduce_scatterv_in_place<T>(on, data, counts, op, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, std::span<const std::size_t> counts,
                       const O& op, const Choice& choice = {}) {
        return detail::run_reduce_scatterv<T>(on, in, out, counts, op, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::reduce_scatter_forms, X, A...>
[[nodiscard]] operation start_reduce_scatter(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::reduce_scatter_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::reduce_scatter_forms, X, A...>
[[nodiscard]] persistent_operation bind_reduce_scatter(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::reduce_scatter_forms>(comm, std::forward<A>(arguments)...);
}

template <class X, class... A>
requires detail::CollectiveForm<detail::reduce_scatterv_forms, X, A...>
[[nodiscard]] operation start_reduce_scatterv(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::reduce_scatterv_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::reduce_scatterv_forms, X, A...>
[[nodiscard]] persistent_operation bind_reduce_scatterv(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::reduce_scatterv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
