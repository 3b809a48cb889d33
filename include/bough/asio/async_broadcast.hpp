// SPDX-License-Identifier: BSL-1.0
// async_broadcast: broadcast with a completion token.
//
//   async_broadcast(comm, data, root{r} [, choice], token)
// Arguments and rules are those of bough/broadcast.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_BROADCAST_HPP
#define BOUGH_ASIO_ASYNC_BROADCAST_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_broadcast.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::broadcast_forms, X, A...>
decltype(auto) async_broadcast(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::broadcast_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
