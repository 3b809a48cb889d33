// SPDX-License-Identifier: BSL-1.0
// choose: which of several plans a cost model expects to be fastest. A pure function of what all ranks agree on, so all
// ranks choose alike; its value keeps the prices, so it can say why.
//
//   auto c = choose(model, {.bytes = 8}, plan_allreduce(recursive_doubling{}, at), plan_allreduce(fnomial{}, at));
//   c.winner, c.predicted_ns[c.winner]
//
// The price of a plan is its walk under the model. Where ranks share cores, who waits gives the core away and gets it back
// when the others have had their turn: a message then takes one turn of all ranks of a core longer to be seen.
#ifndef BOUGH_SELECT_CHOOSE_HPP
#define BOUGH_SELECT_CHOOSE_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/model/walk.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace bough {

// What is to be done, and on what.
struct problem {
    std::uint64_t bytes = 0;         // of the whole vector
    std::uint64_t element_bytes = 1; // bytes is a multiple of it
    rank_t cores = no_rank;          // that the ranks share, equal on all ranks; no_rank: one each
    double switch_ns = 1000;         // to give a core from one rank to the next
};

namespace detail {

// A model seen from ranks that share cores.
template <CostModel M>
struct shared_cores {
    const M& model;
    double turn_ns; // until a rank that waits has the core again

    constexpr double start_ns() const { return model.start_ns(); }
    constexpr double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return model.send_ns(from, to, bytes);
    }
    constexpr double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return model.latency_ns(from, to, bytes) + turn_ns;
    }
    constexpr double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const {
        return model.receive_ns(from, to, bytes);
    }
    constexpr double combine_ns(rank_t rank, std::uint64_t bytes) const { return model.combine_ns(rank, bytes); }
    constexpr double copy_ns(rank_t rank, std::uint64_t bytes) const { return model.copy_ns(rank, bytes); }
};

} // namespace detail

// What a plan is expected to take, in ns.
template <CostModel M, Plan P>
constexpr double price_of(const M& model, const problem& what, const P& plan) {
    BOUGH_EXPECTS(what.cores >= 1, "cores: at least one");
    const rank_t ranks_per_core = what.cores >= plan.size() ? 1 : (plan.size() + what.cores - 1) / what.cores;
    const double turn_ns = ranks_per_core == 1 ? 0 : what.switch_ns * ranks_per_core;
    return model::walk(plan, detail::shared_cores<M>{model, turn_ns}, what.bytes, what.element_bytes).makespan_ns;
}

template <std::size_t N>
struct choice {
    std::size_t winner = 0; // the first of equals
    std::array<double, N> predicted_ns{};
    friend constexpr bool operator==(const choice&, const choice&) = default;
};

template <CostModel M, Plan... P>
constexpr choice<sizeof...(P)> choose(const M& model, const problem& what, const P&... plans) {
    choice<sizeof...(P)> made;
    made.predicted_ns = {price_of(model, what, plans)...};
    for (std::size_t i = 1; i != sizeof...(P); ++i)
        if (made.predicted_ns[i] < made.predicted_ns[made.winner]) made.winner = i;
    return made;
}

} // namespace bough

#endif
