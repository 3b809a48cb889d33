// SPDX-License-Identifier: BSL-1.0
// explain_cost_model: what a type lacks to be a CostModel, in a sentence.
//
//   static_assert(bough::explain_cost_model<my_network>());      // true, or an error that says what to write
//   static_assert(bough::explain_ported_cost_model<my_links>()); // the same of a PortedCostModel
#ifndef BOUGH_CONCEPTS_EXPLAIN_COST_MODEL_HPP
#define BOUGH_CONCEPTS_EXPLAIN_COST_MODEL_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>

#include <concepts>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_cost_model = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class M>
consteval bool explain_cost_model() {
    constexpr bool start = requires(const M& m) {
        { m.start_ns() } -> std::convertible_to<double>;
    };
    constexpr bool send = requires(const M& m, rank_t r, std::uint64_t bytes) {
        { m.send_ns(r, r, bytes) } -> std::convertible_to<double>;
    };
    constexpr bool latency = requires(const M& m, rank_t r, std::uint64_t bytes) {
        { m.latency_ns(r, r, bytes) } -> std::convertible_to<double>;
    };
    constexpr bool receive = requires(const M& m, rank_t r, std::uint64_t bytes) {
        { m.receive_ns(r, r, bytes) } -> std::convertible_to<double>;
    };
    constexpr bool combine = requires(const M& m, rank_t r, std::uint64_t bytes) {
        { m.combine_ns(r, bytes) } -> std::convertible_to<double>;
    };
    constexpr bool copy = requires(const M& m, rank_t r, std::uint64_t bytes) {
        { m.copy_ns(r, bytes) } -> std::convertible_to<double>;
    };
    if constexpr (!start)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double start_ns() const`: what passes on every rank before its first step");
    if constexpr (!send)
        static_assert(detail::no_cost_model<M>,
                      "bough: a CostModel needs `double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const`: "
                      "how long the sender is busy");
    if constexpr (!latency)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const`: "
            "from the end of the send until the message is there");
    if constexpr (!receive)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const`: "
            "how long the receiver is busy");
    if constexpr (!combine)
        static_assert(detail::no_cost_model<M>, "bough: a CostModel needs `double combine_ns(rank_t rank, "
                                                "std::uint64_t bytes) const`: the time of a combine");
    if constexpr (!copy)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double copy_ns(rank_t rank, std::uint64_t bytes) const`: the time of a copy");
    return CostModel<M>;
}

template <class M>
consteval bool explain_ported_cost_model() {
    constexpr bool port = requires(const M& m, rank_t r, std::uint64_t bytes) {
        { m.port_ns(r, r, bytes, true) } -> std::convertible_to<double>;
    };
    constexpr bool early = requires(const M& m) {
        { m.lands_early() } -> std::convertible_to<bool>;
    };
    if constexpr (!port)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a PortedCostModel needs `double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool "
            "duplex) const`: how long a message holds a port at either end");
    if constexpr (!early)
        static_assert(detail::no_cost_model<M>, "bough: a PortedCostModel needs `bool lands_early() const`: may a "
                                                "message pass before its receiver asks for it");
    return explain_cost_model<M>() && PortedCostModel<M>;
}

} // namespace bough

#endif
