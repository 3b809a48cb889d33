// SPDX-License-Identifier: BSL-1.0
// explain_cost_model: what a type lacks to be a CostModel, in a sentence.
//
//   static_assert(bough::explain_cost_model<my_network>());      // true, or an error that says what to write
//   static_assert(bough::explain_ported_cost_model<my_links>()); // the same of a PortedCostModel
#ifndef BOUGH_CONCEPTS_EXPLAIN_COST_MODEL_HPP
#define BOUGH_CONCEPTS_EXPLAIN_COST_MODEL_HPP

#include <bough/concepts/cost_model.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_cost_model = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class M>
consteval bool explain_cost_model() {
    if constexpr (!detail::PricesStart<M>)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double start_ns() const`: what passes on every rank before its first step");
    if constexpr (!detail::PricesSend<M>)
        static_assert(detail::no_cost_model<M>,
                      "bough: a CostModel needs `double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const`: "
                      "how long the sender is busy");
    if constexpr (!detail::PricesLatency<M>)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const`: "
            "from the end of the send until the message is there");
    if constexpr (!detail::PricesReceive<M>)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const`: "
            "how long the receiver is busy");
    if constexpr (!detail::PricesCombine<M>)
        static_assert(detail::no_cost_model<M>, "bough: a CostModel needs `double combine_ns(rank_t rank, "
                                                "std::uint64_t bytes) const`: the time of a combine");
    if constexpr (!detail::PricesCopy<M>)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a CostModel needs `double copy_ns(rank_t rank, std::uint64_t bytes) const`: the time of a copy");
    return CostModel<M>;
}

template <class M>
consteval bool explain_ported_cost_model() {
    if constexpr (!detail::PricesPort<M>)
        static_assert(
            detail::no_cost_model<M>,
            "bough: a PortedCostModel needs `double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool "
            "duplex) const`: how long a message holds a port at either end");
    if constexpr (!detail::SaysLandsEarly<M>)
        static_assert(detail::no_cost_model<M>, "bough: a PortedCostModel needs `bool lands_early() const`: may a "
                                                "message pass before its receiver asks for it");
    return explain_cost_model<M>() && PortedCostModel<M>;
}

} // namespace bough

#endif
