// SPDX-License-Identifier: BSL-1.0
// Adds the allreduces around a slow rank to the candidates, where costs say that one rank is slower than
// all others.
//
//   auto from = standard_candidates<goal::allreduce>(at, what, {}, costs);      has them
//   add_slow_rank(from, at, what, costs);                                       adds them to another list
//
// They are slow_rank_allreduce in 4, 16 and 64 chunks. A list gets none if the costs take all pairs of
// ranks for equal, if no rank stands out, or if the vector is too short to be cut. A pure function of its
// arguments, on which all ranks must agree. *Time*: the costs of about 6 p messages.
#ifndef BOUGH_SELECT_SLOW_RANKS_HPP
#define BOUGH_SELECT_SLOW_RANKS_HPP

#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/search.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Costs that differ by less than this factor name no slow rank. From about 1.3 on the plan can win.
inline constexpr double stands_out = 1.1;

// Adds the plans around this rank that are not there yet: costs and cables may both say that it is slow.
template <int = 0>
void add_around(candidate_list& made, rank_t slow, const dimensions& at, const problem& what) {
    for (const block_t chunks : {4u, 16u, 64u}) {
        const candidate around{slow_rank_allreduce{slow}, chunks * (at.size - 1)};
        if (what.bytes / (at.size - 1) / chunks < 512) continue;
        if (!detail::contains(made.list, around)) made.list.push_back(around);
    }
}

// What it costs at least to exchange so many bytes with a rank, and to combine them there. A look at
// three other ranks is enough, since at most one of them is slow.
template <int = 0>
double least_exchange_ns(const any_cost_model& costs, rank_t rank, std::uint64_t bytes, const problem& what,
                         rank_t size) {
    double least = std::numeric_limits<double>::infinity();
    for (rank_t far = 1; far <= 3 && far < size; ++far) {
        const rank_t peer = rank < size - far ? rank + far : rank - (size - far);
        const message_costs out = costs.costs_of(rank, peer, bytes, what, size);
        const message_costs in = costs.costs_of(peer, rank, bytes, what, size);
        least = std::min(least, out.send_ns + out.latency_ns + out.port_ns + out.receive_ns + in.send_ns +
                                    in.latency_ns + in.port_ns + in.receive_ns + in.combine_ns);
    }
    return least;
}

// The rank that is slower than all others; no_rank: none stands out. Pre: costs.
template <int = 0>
rank_t slow_rank_of(const any_cost_model& costs, const dimensions& at, const problem& what) {
    if (at.size < 3 || costs.homogeneous()) return no_rank;
    const std::uint64_t bytes = what.bytes / at.size;
    rank_t slowest = 0;
    double most = 0, next = 0;
    for (rank_t r = 0; r != at.size; ++r) {
        const double ns = least_exchange_ns(costs, r, bytes, what, at.size);
        if (ns > most)
            next = most, most = ns, slowest = r;
        else
            next = std::max(next, ns);
    }
    return most > next * stands_out ? slowest : no_rank;
}

} // namespace detail

// Pre: the list is of allreduce; there is a model in `costs`.
template <int = 0>
void add_slow_rank(candidate_list& made, const dimensions& at, const problem& what, const any_cost_model& costs) {
    BOUGH_EXPECTS(made.kind == goal::allreduce::kind, "add_slow_rank: for allreduce");
    const rank_t slow = detail::slow_rank_of(costs, at, what);
    if (slow != no_rank) detail::add_around(made, slow, at, what);
}

} // namespace bough

#endif
