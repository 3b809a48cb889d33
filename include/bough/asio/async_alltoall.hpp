// SPDX-License-Identifier: BSL-1.0
// async_alltoall, async_alltoallv: alltoall with a completion token.
//
//   async_alltoall(comm, in, out [, choice], token)
//   async_alltoallv(comm, in, send_counts, out, receive_counts [, choice], token)
// Arguments and rules are those of bough/alltoall.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_ALLTOALL_HPP
#define BOUGH_ASIO_ASYNC_ALLTOALL_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_alltoall.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::alltoall_forms, X, A...>
decltype(auto) async_alltoall(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::alltoall_forms>(comm, std::forward<A>(arguments_and_token)...);
}
template <class X, class... A>
requires detail::AsyncForm<detail::alltoallv_forms, X, A...>
decltype(auto) async_alltoallv(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::alltoallv_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
