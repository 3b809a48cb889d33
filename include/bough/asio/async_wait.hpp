// SPDX-License-Identifier: BSL-1.0
// async_wait: a completion token for an operation that has been started, or for a run of a persistent one.
//
//   bough::persistent_operation total = bough::bind_allreduce(comm, std::span(&sum, 1), bough::plus{});
//   total.start();
//   bough::async_wait(comm, total, token);         // void(boost::system::error_code)
// The communicator is over bough::on_executor, and is the operation's own or another over the same transport. The operation
// stays where it is until the handler is called. One that has ended, or was never started, completes at once: not inside
// of this call.
#ifndef BOUGH_ASIO_ASYNC_WAIT_HPP
#define BOUGH_ASIO_ASYNC_WAIT_HPP

#include <bough/asio/initiate.hpp>
#include <bough/operation.hpp>

#include <concepts>
#include <utility>

namespace bough::inline BOUGH_ABI {

template <class X, std::derived_from<detail::operation_handle> Operation, class Token>
decltype(auto) async_wait(communicator<X>& comm, Operation& started, Token&& token) {
    static_assert(is_on_executor_v<X>, "bough: async_wait needs a communicator over an executor: "
                                       "communicator comm{on_executor{std::move(transport), io_context}}");
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        detail::initiate_wait<X>{&comm, &started}, token);
}

} // namespace bough

#endif
