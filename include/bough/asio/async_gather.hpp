// SPDX-License-Identifier: BSL-1.0
// async_gather, async_gatherv: gather with a completion token.
//
//   async_gather(comm, in, out, root{r} [, choice], token)           async_gather(comm, data, root{r} [, choice], token)
//   async_gatherv(comm, in, out, counts, root{r} [, choice], token)  async_gatherv(comm, data, counts, root{r} [, choice], token)
// Arguments and rules are those of bough/gather.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_GATHER_HPP
#define BOUGH_ASIO_ASYNC_GATHER_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_gather.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::gather_forms, X, A...>
decltype(auto) async_gather(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::gather_forms>(comm, std::forward<A>(arguments_and_token)...);
}
template <class X, class... A>
requires detail::AsyncForm<detail::gatherv_forms, X, A...>
decltype(auto) async_gatherv(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::gatherv_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
