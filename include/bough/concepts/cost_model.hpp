// SPDX-License-Identifier: BSL-1.0
// CostModel: what one message and one combine cost, in nanoseconds, on one rank pair of a network.
//
// Valid expressions on a model `m` (all double, in ns; `bytes` is the size of the message or of the combined operand):
//   m.start_ns()                          before the first step, once per rank
//   m.send_ns(from, to, bytes)            the sender is busy for so long
//   m.latency_ns(from, to, bytes)         from the end of the send until the message is at the receiver
//   m.receive_ns(from, to, bytes)         the receiver is busy for so long
//   m.combine_ns(rank, bytes)             a combine; a copy costs copy_ns(rank, bytes)
// Laws: finite and not negative; non-decreasing in bytes; a pure function of its arguments.
// A model may also have
//   m.arrival_ns(rank)                    when the rank comes, before start_ns passes; without it all
//                                         come at time 0
//   m.eager_bytes(from, to)               longer messages are rendezvous: they begin only when their
//                                         receiver has asked for them (bough/model/rendezvous.hpp); or
//   m.eager_bytes()                       the same limit for all pairs; without it all messages are eager
//
// PortedCostModel is a CostModel of a network whose links are busy while a message passes. In
// addition it has
//   m.port_ns(from, to, bytes, duplex)    for so long the message holds the out port of its sender and
//                                         the in port of its receiver. `duplex`: it is half of an
//                                         exchange (bough/model/walk.hpp says when)
//   m.lands_early()                       may a message pass the in port before its receiver asks for it?
// Laws: as above; a message of an exchange is not faster than one of its own.
#ifndef BOUGH_CONCEPTS_COST_MODEL_HPP
#define BOUGH_CONCEPTS_COST_MODEL_HPP

#include <bough/core/rank.hpp>

#include <concepts>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {
// What a CostModel and a PortedCostModel need, by name; their explain_ functions use the same names.
template <class M>
concept PricesStart = requires(const M& model) {
    { model.start_ns() } -> std::convertible_to<double>;
};
template <class M>
concept PricesSend = requires(const M& model, rank_t from, rank_t to, std::uint64_t bytes) {
    { model.send_ns(from, to, bytes) } -> std::convertible_to<double>;
};
template <class M>
concept PricesLatency = requires(const M& model, rank_t from, rank_t to, std::uint64_t bytes) {
    { model.latency_ns(from, to, bytes) } -> std::convertible_to<double>;
};
template <class M>
concept PricesReceive = requires(const M& model, rank_t from, rank_t to, std::uint64_t bytes) {
    { model.receive_ns(from, to, bytes) } -> std::convertible_to<double>;
};
template <class M>
concept PricesCombine = requires(const M& model, rank_t rank, std::uint64_t bytes) {
    { model.combine_ns(rank, bytes) } -> std::convertible_to<double>;
};
template <class M>
concept PricesCopy = requires(const M& model, rank_t rank, std::uint64_t bytes) {
    { model.copy_ns(rank, bytes) } -> std::convertible_to<double>;
};
template <class M>
concept PricesPort = requires(const M& model, rank_t from, rank_t to, std::uint64_t bytes, bool duplex) {
    { model.port_ns(from, to, bytes, duplex) } -> std::convertible_to<double>;
};
template <class M>
concept SaysLandsEarly = requires(const M& model) {
    { model.lands_early() } -> std::convertible_to<bool>;
};
} // namespace detail

template <class M>
concept CostModel = detail::PricesStart<M> && detail::PricesSend<M> && detail::PricesLatency<M> &&
    detail::PricesReceive<M> && detail::PricesCombine<M> && detail::PricesCopy<M>;

template <class M>
concept PortedCostModel = CostModel<M> && detail::PricesPort<M> && detail::SaysLandsEarly<M>;

} // namespace bough

#endif
