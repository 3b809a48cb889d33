// SPDX-License-Identifier: BSL-1.0
// async_allreduce: allreduce with a completion token.
//
//   async_allreduce(comm, data, op [, choice], token)              in place
//   async_allreduce(comm, in, out, op [, choice], token)
// Arguments and rules are those of bough/allreduce.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_ALLREDUCE_HPP
#define BOUGH_ASIO_ASYNC_ALLREDUCE_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_allreduce.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::allreduce_forms, X, A...>
decltype(auto) async_allreduce(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::allreduce_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
