// SPDX-License-Identifier: BSL-1.0
// start_allgather, bind_allgather, start_allgatherv, bind_allgatherv: allgather in split phase.
//
//   start_allgather(comm, in, out [, choice])            start_allgather(comm, data [, choice])
//   start_allgatherv(comm, in, out, counts [, choice])   start_allgatherv(comm, data, counts [, choice])
// Arguments and rules are those of bough/allgather.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_ALLGATHER_HPP
#define BOUGH_START_ALLGATHER_HPP

#include <bough/allgather.hpp>
#include <bough/detail/starter.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

namespace detail {

struct allgather_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    static status call(On& on, std::span<T, N> data, const Choice& choice = {}) {
        return detail::allgather_in_place<T>(on, data, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, const Choice& choice = {}) {
        return detail::run_allgather<T>(on, in, out, choice);
    }
};
struct allgatherv_forms {
    template <class On, class T, std::size_t N, class Choice = automatic>
    requires NotCounts<Choice>
    static status call(On& on, std::span<T, N> data, std::span<const std::size_t> counts, const Choice& choice = {}) {
        return detail::allgatherv_in_place<T>(on, data, counts, choice);
    }
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, std::span<const std::size_t> counts,
                       const Choice& choice = {}) {
        return detail::run_allgatherv<T>(on, in, out, counts, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::allgather_forms, X, A...>
[[nodiscard]] operation start_allgather(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::allgather_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::allgather_forms, X, A...>
[[nodiscard]] persistent_operation bind_allgather(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::allgather_forms>(comm, std::forward<A>(arguments)...);
}

template <class X, class... A>
requires detail::CollectiveForm<detail::allgatherv_forms, X, A...>
[[nodiscard]] operation start_allgatherv(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::allgatherv_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::allgatherv_forms, X, A...>
[[nodiscard]] persistent_operation bind_allgatherv(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::allgatherv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
