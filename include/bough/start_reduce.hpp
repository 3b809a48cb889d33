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

#include <bough/detail/starter.hpp>
#include <bough/reduce.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

class batch; // bough/batch.hpp

namespace detail {

struct reduce_forms {
    template <class On, class T, std::size_t N, class O, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, const O& op, root to, const Choice& choice = {}) {
        return detail::run_reduce<T>(on, data, data, op, to, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, const O& op, root to,
                       const Choice& choice = {}) {
        return detail::run_reduce<T>(on, in, out, op, to, choice);
    }
    template <class On, class Choice = automatic>
    static status call(On& on, const batch& all, root to, const Choice& choice = {}) {
        return run_reduce(on, all, to, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::reduce_forms, X, A...>
[[nodiscard]] operation start_reduce(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::reduce_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::reduce_forms, X, A...>
[[nodiscard]] persistent_operation bind_reduce(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::reduce_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
