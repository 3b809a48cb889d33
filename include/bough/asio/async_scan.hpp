// SPDX-License-Identifier: BSL-1.0
// async_scan: scan with a completion token.
//
//   async_scan(comm, data, op [, choice], token)              in place
//   async_scan(comm, in, out, op [, choice], token)
// Arguments and rules are those of bough/scan.hpp, the communicator is over bough::on_executor, and the token is any of Asio's:
// a handler void(boost::system::error_code), use_future, use_awaitable, ... Ranks count their calls as they are initiated: with
// a lazy token, when it is awaited.
#ifndef BOUGH_ASIO_ASYNC_SCAN_HPP
#define BOUGH_ASIO_ASYNC_SCAN_HPP

#include <bough/asio/initiate.hpp>
#include <bough/start_scan.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, class... A>
requires detail::AsyncForm<detail::scan_forms, X, A...>
decltype(auto) async_scan(communicator<X>& comm, A&&... arguments_and_token) {
    return detail::async_collective<detail::scan_forms>(comm, std::forward<A>(arguments_and_token)...);
}

} // namespace bough

#endif
