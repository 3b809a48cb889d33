// SPDX-License-Identifier: BSL-1.0
// start_alltoall, bind_alltoall, start_alltoallv, bind_alltoallv: alltoall in split phase.
//
//   start_alltoall(comm, in, out [, choice])
//   start_alltoallv(comm, in, send_counts, out, receive_counts [, choice])
// Arguments and rules are those of bough/alltoall.hpp. Each returns a bough::operation (bough/operation.hpp) at once; bind_ instead
// of start_ makes a persistent_operation, to be started as often as you like.
#ifndef BOUGH_START_ALLTOALL_HPP
#define BOUGH_START_ALLTOALL_HPP

#include <bough/alltoall.hpp>
#include <bough/detail/starter.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough {

namespace detail {

struct alltoall_forms {
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<T, N> out, const Choice& choice = {}) {
        return detail::run_alltoall<T>(on, in, out, choice);
    }
};
struct alltoallv_forms {
    template <class On, class T, std::size_t N, class U, std::size_t M, class Choice = automatic>
    requires std::same_as<std::remove_const_t<U>, T>
    static status call(On& on, std::span<U, M> in, std::span<const std::size_t> send_counts, std::span<T, N> out,
                       std::span<const std::size_t> receive_counts, const Choice& choice = {}) {
        return detail::run_alltoallv<T>(on, in, send_counts, out, receive_counts, choice);
    }
};

} // namespace detail

template <class X, class... A>
requires detail::CollectiveForm<detail::alltoall_forms, X, A...>
[[nodiscard]] operation start_alltoall(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::alltoall_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::alltoall_forms, X, A...>
[[nodiscard]] persistent_operation bind_alltoall(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::alltoall_forms>(comm, std::forward<A>(arguments)...);
}

template <class X, class... A>
requires detail::CollectiveForm<detail::alltoallv_forms, X, A...>
[[nodiscard]] operation start_alltoallv(communicator<X>& comm, A&&... arguments) {
    return detail::start<detail::alltoallv_forms>(comm, std::forward<A>(arguments)...);
}
template <class X, class... A>
requires detail::CollectiveForm<detail::alltoallv_forms, X, A...>
[[nodiscard]] persistent_operation bind_alltoallv(communicator<X>& comm, A&&... arguments) {
    return detail::bind<detail::alltoallv_forms>(comm, std::forward<A>(arguments)...);
}

} // namespace bough

#endif
