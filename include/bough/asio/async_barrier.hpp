// SPDX-License-Identifier: BSL-1.0
// async_barrier: barrier with a completion token.
//
//   async_barrier(comm [, choice], token)        it ends when every rank has started it
// Arguments and rules are those of bough/barrier.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_BARRIER_HPP
#define BOUGH_ASIO_ASYNC_BARRIER_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_barrier.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::barrier_forms, X, A...>
decltype(auto) async_barrier(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::barrier_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
