// SPDX-License-Identifier: BSL-1.0
// The async_ collectives: every collective with a completion token of Asio.
//
//   bough::communicator comm{bough::on_executor{std::move(transport), io}};        // bough/asio/on_executor.hpp
//   bough::async_allreduce(comm, data, op [, choice], token);
//   bough::async_allreduce(comm, data, op, bough::named{"gradient/7"}, token);      // bough/call/named.hpp
//   bough::async_wait(comm, op, token);                                            // for an operation
// The arguments before the token, and the rules for them, are those of the collective:
// bough/allreduce.hpp and so on. A value is a variable that the result is written into. The token
// is any of Asio's: a handler void(boost::system::error_code), use_future, use_awaitable, ... Calls
// count, for their order on all ranks, when they are initiated; with a lazy token that is when it
// is awaited.
//
// With as_status(token) the result is a bough::status in place of an error code: it says whose fault it
// was, the first cause, and both values of what differs. Nothing is thrown then:
//   bough::status s = co_await bough::async_barrier(comm, bough::as_status(boost::asio::use_awaitable));
//   bough::async_barrier(comm, bough::as_status([](const bough::status& s) { ... }));
#ifndef BOUGH_ASIO_ASYNC_HPP
#define BOUGH_ASIO_ASYNC_HPP

#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/asio/detail/initiate.hpp>
#include <bough/asio/on_executor.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/core/config.hpp>
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/multicast.hpp>
#include <bough/multicasts.hpp>
#include <bough/neighbour_allgather.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

// A completion token of the async_ collectives, and of async_wait, whose handler gets a bough::status.
template <class Token>
detail::status_token<std::decay_t<Token>> as_status(Token&& token) {
    return {std::forward<Token>(token)};
}

// Each is called as the front door of its name, with a completion token behind the arguments.
inline constexpr detail::asynchronous<detail::allgather_forms> async_allgather{};
inline constexpr detail::asynchronous<detail::allgatherv_forms> async_allgatherv{};
inline constexpr detail::asynchronous<detail::allreduce_forms> async_allreduce{};
inline constexpr detail::asynchronous<detail::alltoall_forms> async_alltoall{};
inline constexpr detail::asynchronous<detail::alltoallv_forms> async_alltoallv{};
inline constexpr detail::asynchronous<detail::barrier_forms> async_barrier{};
inline constexpr detail::asynchronous<detail::broadcast_forms> async_broadcast{};
inline constexpr detail::asynchronous<detail::exscan_forms> async_exscan{};
inline constexpr detail::asynchronous<detail::gather_forms> async_gather{};
inline constexpr detail::asynchronous<detail::gatherv_forms> async_gatherv{};
inline constexpr detail::asynchronous<detail::multicast_forms> async_multicast{};
inline constexpr detail::asynchronous<detail::multicasts_forms> async_multicasts{};
inline constexpr detail::asynchronous<detail::neighbour_allgather_forms> async_neighbour_allgather{};
inline constexpr detail::asynchronous<detail::neighbour_alltoall_forms> async_neighbour_alltoall{};
inline constexpr detail::asynchronous<detail::neighbour_alltoallv_forms> async_neighbour_alltoallv{};
inline constexpr detail::asynchronous<detail::reduce_forms> async_reduce{};
inline constexpr detail::asynchronous<detail::reduce_scatter_forms> async_reduce_scatter{};
inline constexpr detail::asynchronous<detail::reduce_scatterv_forms> async_reduce_scatterv{};
inline constexpr detail::asynchronous<detail::scan_forms> async_scan{};
inline constexpr detail::asynchronous<detail::scatter_forms> async_scatter{};
inline constexpr detail::asynchronous<detail::scatterv_forms> async_scatterv{};

// Waits for an operation that has been started, or for a run of a persistent one:
//   bough::persistent_operation total = bough::bind_allreduce(comm, std::span(&sum, 1), bough::plus{});
//   total.start();
//   bough::async_wait(comm, total, token);         // void(boost::system::error_code), or as_status(token)
// The communicator is the operation's own or another one over the same transport. The operation
// must stay where it is until the handler is called. If the operation has ended, or was never
// started, it completes at once, but not inside this call.
template <class X, std::derived_from<detail::operation_handle> Operation, class Token>
decltype(auto) async_wait(communicator<X>& comm, Operation& started, Token&& token) {
    static_assert(is_on_executor_v<X>, "bough: async_wait needs a communicator over an executor: "
                                       "communicator comm{on_executor{std::move(transport), io_context}}");
    return detail::with_result_of<Token>(
        token,
        [&]<class Result, class Its>(std::type_identity<Result>, std::type_identity<Its>,
                                     auto& given) -> decltype(auto) {
            return boost::asio::async_initiate<Its, void(Result)>(detail::initiate_wait<X, Result>{&comm, &started},
                                                                  given);
        });
}

} // namespace bough

#endif
