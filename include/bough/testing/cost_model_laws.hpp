// SPDX-License-Identifier: BSL-1.0
// The laws of CostModel and of PortedCostModel, as code: run them over your own model at the rank
// counts and sizes that matter to you.
//
//   static_assert(bough::testing::check_cost_model(my_network, 8, my_sizes) == bough::testing::cost_fault{});
//
// The check asks twice for the costs of every pair of ranks below `ranks` and every size. Its
// report names one law, cost, pair and size.
#ifndef BOUGH_TESTING_COST_MODEL_LAWS_HPP
#define BOUGH_TESTING_COST_MODEL_LAWS_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace bough::inline BOUGH_ABI::testing {

// The laws.
enum class cost_law : std::uint8_t {
    none,               // all laws hold
    finite,             // no infinity, no NaN
    not_negative,       // no cost is below 0
    rises_with_bytes,   // a cost never falls from one size to the next larger one
    same_when_repeated, // a cost is a pure function of its arguments
    exchange_not_faster // PortedCostModel: a message of an exchange holds a port at least as long as a single one
};

// Which cost breaks it.
enum class cost_kind : std::uint8_t { start, send, latency, receive, combine, copy, port_one_way, port_exchange };

struct cost_fault {
    cost_law law = cost_law::none;
    cost_kind cost = cost_kind::start;
    rank_t from = no_rank; // for a local cost: the rank
    rank_t to = no_rank;
    std::uint64_t bytes = 0;
    friend constexpr bool operator==(const cost_fault&, const cost_fault&) = default;
};

// The first law that is broken, if one is. Pre: `sizes` are in ascending order.
template <CostModel M>
constexpr cost_fault check_cost_model(const M& model, rank_t ranks, std::span<const std::uint64_t> sizes) {
    const auto cost_of = [&](cost_kind kind, rank_t from, rank_t to, std::uint64_t bytes) -> double {
        switch (kind) {
        case cost_kind::start: return model.start_ns();
        case cost_kind::send: return model.send_ns(from, to, bytes);
        case cost_kind::latency: return model.latency_ns(from, to, bytes);
        case cost_kind::receive: return model.receive_ns(from, to, bytes);
        case cost_kind::combine: return model.combine_ns(from, bytes);
        case cost_kind::copy: return model.copy_ns(from, bytes);
        case cost_kind::port_one_way:
            if constexpr (PortedCostModel<M>) return model.port_ns(from, to, bytes, false);
            break;
        case cost_kind::port_exchange:
            if constexpr (PortedCostModel<M>) return model.port_ns(from, to, bytes, true);
            break;
        }
        return 0;
    };
    constexpr std::array kinds{cost_kind::start,   cost_kind::send, cost_kind::latency,      cost_kind::receive,
                               cost_kind::combine, cost_kind::copy, cost_kind::port_one_way, cost_kind::port_exchange};
    for (const cost_kind kind : kinds)
        for (rank_t from = 0; from != ranks; ++from)
            for (rank_t to = 0; to != ranks; ++to) {
                double smaller_ns = 0;
                for (const std::uint64_t bytes : sizes) {
                    const double ns = cost_of(kind, from, to, bytes);
                    const auto broken = [&](cost_law law) { return cost_fault{law, kind, from, to, bytes}; };
                    if (!(ns <= std::numeric_limits<double>::max() && ns >= std::numeric_limits<double>::lowest()))
                        return broken(cost_law::finite);
                    if (ns < 0) return broken(cost_law::not_negative);
                    if (ns < smaller_ns) return broken(cost_law::rises_with_bytes);
                    if (cost_of(kind, from, to, bytes) != ns) return broken(cost_law::same_when_repeated);
                    if (kind == cost_kind::port_exchange && ns < cost_of(cost_kind::port_one_way, from, to, bytes))
                        return broken(cost_law::exchange_not_faster);
                    smaller_ns = ns;
                }
            }
    return {};
}

} // namespace bough::testing

#endif
