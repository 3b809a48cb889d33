// SPDX-License-Identifier: BSL-1.0
// async_reduce_scatter, async_reduce_scatterv: reduce_scatter with a completion token.
//
//   async_reduce_scatter(comm, in, out, op [, choice], token)            async_reduce_scatter(comm, data, op [, choice], token)
//   async_reduce_scatterv(comm, in, out, counts, op [, choice], token)   async_reduce_scatterv(comm, data, counts, op [, choice], token)
// Arguments and rules are those of bough/reduce_scatter.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_REDUCE_SCATTER_HPP
#define BOUGH_ASIO_ASYNC_REDUCE_SCATTER_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_reduce_scatter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::reduce_scatter_forms, X, A...>
decltype(auto) async_reduce_scatter(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::reduce_scatter_forms>(comm, std::forward<A>(arguments_and_token)...);
}
template <class X, class... A>
requires detail::AsyncForm<detail::reduce_scatterv_forms, X, A...>
decltype(auto) async_reduce_scatterv(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::reduce_scatterv_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
