// SPDX-License-Identifier: BSL-1.0
// async_reduce: reduce with a completion token.
//
//   async_reduce(comm, data, op, root{r} [, choice], token)        in place at the root
//   async_reduce(comm, in, out, op, root{r} [, choice], token)
// Arguments and rules are those of bough/reduce.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_REDUCE_HPP
#define BOUGH_ASIO_ASYNC_REDUCE_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_reduce.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::reduce_forms, X, A...>
decltype(auto) async_reduce(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::reduce_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
