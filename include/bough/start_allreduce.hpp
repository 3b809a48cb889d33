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
#include <bough/detail/starter.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

class batch; // bough/batch.hpp

namespace detail {

struct allreduce_forms {
    template <class On, class T, std::size_t N, class O, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, const O& op, const Choice& choice = {}) {
        return detail::run_allreduce<T>(on, data, data, op, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class O, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, const O& op, const Choice& choice = {}) {
        return detail::run_allreduce<T>(on, in, out, op, choice);
    }
    template <class On, class Choice = automatic>
    static status call(On& on, const batch& all, const Choice& choice = {}) {
        return run_allreduce(on, all, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::allreduce_forms, X, A...>
[[nodiscard]] operation start_allreduce(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::allreduce_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::allreduce_forms, X, A...>
[[nodiscard]] persistent_operation bind_allreduce(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::allreduce_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
