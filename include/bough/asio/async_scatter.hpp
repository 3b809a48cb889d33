// SPDX-License-Identifier: BSL-1.0
// async_scatter, async_scatterv: scatter with a completion token.
//
//   async_scatter(comm, in, out, root{r} [, choice], token)           async_scatter(comm, data, root{r} [, choice], token)
//   async_scatterv(comm, in, out, counts, root{r} [, choice], token)  async_scatterv(comm, data, counts, root{r} [, choice], token)
// Arguments and rules are those of bough/scatter.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_SCATTER_HPP
#define BOUGH_ASIO_ASYNC_SCATTER_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_scatter.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::scatter_forms, X, A...>
decltype(auto) async_scatter(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::scatter_forms>(comm, std::forward<A>(arguments_and_token)...);
}
template <class X, class... A>
requires detail::AsyncForm<detail::scatterv_forms, X, A...>
decltype(auto) async_scatterv(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::scatterv_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
