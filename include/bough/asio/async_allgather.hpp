// SPDX-License-Identifier: BSL-1.0
// async_allgather, async_allgatherv: allgather with a completion token.
//
//   async_allgather(comm, in, out [, choice], token)            async_allgather(comm, data [, choice], token)
//   async_allgatherv(comm, in, out, counts [, choice], token)   async_allgatherv(comm, data, counts [, choice], token)
// Arguments and rules are those of bough/allgather.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_ALLGATHER_HPP
#define BOUGH_ASIO_ASYNC_ALLGATHER_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_allgather.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::allgather_forms, X, A...>
decltype(auto) async_allgather(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::allgather_forms>(comm, std::forward<A>(arguments_and_token)...);
}
template <class X, class... A>
requires detail::AsyncForm<detail::allgatherv_forms, X, A...>
decltype(auto) async_allgatherv(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::allgatherv_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
