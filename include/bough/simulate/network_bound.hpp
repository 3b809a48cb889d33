// SPDX-License-Identifier: BSL-1.0
// network_bound: the least time that any schedule of a collective can have on a network. No plan is
// faster, so the bound says how good a plan is: one that takes 376 us, where the bound is 317 us, reaches
// 84 % of what this network can do.
//
//   const network_bound least = bound_on(network, model, goal::allreduce::kind, {.size = 64}, bytes);
//   least.ns(), least.bandwidth_ns, least.latency_ns
//   bound_on(network, model, goal::neighbour_alltoall{around}, at, bytes)
//
// Bandwidth: what must leave a set S of vertices takes at least as long as its links out need.
//   allgather, reduce_scatter   hosts of S / hosts m, the largest over all S that leave out a host. That is
//                               the optimum: trees reach it (ForestColl, arXiv 2402.06787)
//   broadcast, reduce           m, for all S with the root and without some host: the optimum, too
//                               (Edmonds 1973)
//   scatter, gather             the shares of the hosts outside of S, for all S with the root: the optimum
//   scan, exscan                m, from the first rank to each later one, from each to the last
//   allreduce                   m, for all S that part two hosts. And for parts of hosts: k of them
//                               exchange 2 (k - 1) m at least, since k - 1 messages must come before
//                               one part has the result, and k - 1 after that; through the links that
//                               leave the parts. Parts tried: hosts; hosts of one switch; what hangs
//                               together over faster cables, or below switches of a level
//   alltoall                    of each host and each such part; and the distances of all pairs, added
//                               up, over all links
//   neighbour_allgather, neighbour_alltoall
//                               the same, of the pairs that are neighbours; a block that an allgather
//                               takes to several ranks of a part enters it once
// Latency: one message over the most links that two ranks that must hear of each other are apart.
// The two are not added, but a message's latency comes on top of the bandwidth, too.
//
// All cuts are tried, by maximal flows, up to most_hosts_cut hosts; of larger networks those of the
// parts only, which is a bound as well, but may be lower. Costs of combining, of noise, of arrivals
// and of ports beside the network are not counted: they make plans slower, not faster.
// Pre: network.check(at.size) is ok. Time: as many maximal flows as there are hosts.
#ifndef BOUGH_SIMULATE_NETWORK_BOUND_HPP
#define BOUGH_SIMULATE_NETWORK_BOUND_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/simulate/detail/network_cuts.hpp>
#include <bough/simulate/network.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct network_bound {
    double bandwidth_ns = 0; // for the bytes that must pass
    double latency_ns = 0;   // for the ways that must be gone
    // Of any message over the shortest way; part of latency_ns, on top of bandwidth_ns.
    double message_ns = 0;
    bool all_cuts = true; // false: the network is too large, so that only some were tried
    constexpr double ns() const noexcept {
        return std::max(latency_ns, bandwidth_ns == 0 ? 0 : bandwidth_ns + message_ns);
    }
    friend constexpr bool operator==(const network_bound&, const network_bound&) = default;
};

namespace detail {

// What the nearest message costs beside the network, in ns.
template <CostModel M>
double nearest_message_ns(const M& model, rank_t size) {
    const rank_t sampled = std::min<rank_t>(size, 1024);
    double least_ns = std::numeric_limits<double>::infinity();
    for (rank_t a = 0; a != sampled; ++a)
        for (rank_t b = 0; b != sampled; ++b) {
            if (a == b) continue;
            least_ns =
                std::min(least_ns, model.send_ns(a, b, 0) + model.latency_ns(a, b, 0) + model.receive_ns(a, b, 0));
            if constexpr (requires { requires M::homogeneous; }) return least_ns;
        }
    return sampled == size ? least_ns : 0; // some pair may be nearer
}

// Into how many blocks, alike for all ranks, a collective cuts its vector, however a plan cuts it
// further.
constexpr std::uint64_t shares_of(std::uint8_t kind, rank_t size) noexcept {
    switch (kind) {
    case goal::allgather::kind:
    case goal::reduce_scatter::kind:
    case goal::scatter::kind:
    case goal::gather::kind: return size;
    case goal::alltoall::kind: return std::uint64_t{size} * size;
    default: return 1;
    }
}
// The bytes of so many shares of whole elements, if all are as long as the shortest. `pieces`: into so many
// blocks a plan cuts each of them; as the vector is cut evenly into blocks, the first ones longer, the
// last share is the shortest. Pre: shares >= 1, pieces >= 1.
inline std::uint64_t bytes_alike(std::uint64_t bytes, std::uint64_t shares, std::uint64_t pieces,
                                 std::uint64_t element_bytes) {
    BOUGH_EXPECTS(element_bytes >= 1 && bytes % element_bytes == 0, "bytes: needs a whole number of elements");
    const std::uint64_t elements = bytes / element_bytes, longer = elements % (shares * pieces);
    const std::uint64_t before = (shares - 1) * pieces; // blocks before the last share
    const std::uint64_t last = elements / (shares * pieces) * pieces + (longer > before ? longer - before : 0);
    return last * shares * element_bytes;
}
// Into how many blocks plans in at.blocks blocks cut each share.
constexpr std::uint64_t pieces_of(std::uint8_t kind, const dimensions& at) noexcept {
    const bool may_cut = kind == goal::allgather::kind || kind == goal::reduce_scatter::kind;
    return may_cut && at.blocks != natural_blocks && at.blocks != 0 && at.blocks % at.size == 0 ? at.blocks / at.size
                                                                                                : 1;
}

} // namespace detail

// How many bytes of a vector count for the bound of a collective (Goal::kind). Where each rank, or each
// pair, has a block of the vector, all blocks count as long as the shortest one. In an allgather or a
// reduce_scatter, plans may cut the blocks of ranks; the walk and the simulator cut the vector evenly, so
// some ranks may have a few elements less: this is for plans in at.blocks blocks, by default one a rank.
// Pre: as for bound_on.
inline std::uint64_t bytes_bounded(std::uint8_t kind, const dimensions& at, std::uint64_t bytes,
                                   std::uint64_t element_bytes = 1) {
    return detail::bytes_alike(bytes, detail::shares_of(kind, at.size), detail::pieces_of(kind, at), element_bytes);
}

// The bound for a collective (Goal::kind) of a vector of so many bytes. Of an alltoall that is the
// whole matrix; of a barrier it does not matter. at.blocks: see bytes_bounded. Pre: bytes is a multiple of
// element_bytes, which is at least 1.
template <CostModel M>
network_bound bound_on(const network& over, const M& model, std::uint8_t kind, const dimensions& at,
                       std::uint64_t bytes, std::uint64_t element_bytes = 1) {
    BOUGH_EXPECTS(!over.check(at.size), "bound_on: see network.check()");
    network_bound made;
    if (at.size < 2) return made;
    const detail::network_cuts cuts(over, at.size);
    const double nearest_ns = model.start_ns() + detail::nearest_message_ns(model, at.size);
    made.all_cuts = cuts.all_cuts();
    made.bandwidth_ns =
        cuts.bandwidth_ns_per_byte(kind, at.root) * static_cast<double>(bytes_bounded(kind, at, bytes, element_bytes));
    made.message_ns = nearest_ns + over.hop_ns * cuts.nearest();
    made.latency_ns = nearest_ns + over.hop_ns * cuts.farthest(kind, at.root);
    return made;
}

// The bound for a collective of neighbours. `bytes`: of the blocks of all ranks together, as the tool and
// the simulator count them. All blocks count as long as the shortest one.
// Pre: goal.neighbours.check(at.size) is ok; bytes is a multiple of element_bytes, which is at least 1.
template <CostModel M, class Goal>
requires std::same_as<Goal, goal::neighbour_allgather> || std::same_as<Goal, goal::neighbour_alltoall>
    network_bound bound_on(const network& over, const M& model, const Goal& goal, const dimensions& at,
                           std::uint64_t bytes, std::uint64_t element_bytes = 1) {
    BOUGH_EXPECTS(!over.check(at.size), "bound_on: see network.check()");
    BOUGH_EXPECTS(!goal.neighbours.check(at.size), "bound_on: see neighbourhood.check()");
    constexpr bool gathers = std::same_as<Goal, goal::neighbour_allgather>;
    const std::uint64_t blocks = gathers ? at.size : goal.neighbours.blocks(at.size);
    std::vector<detail::network_cuts::delivery> wanted;
    for (rank_t r = 0; r != at.size; ++r) {
        if (gathers) wanted.push_back({r, {}});
        for (block_t place = 0; place != goal.neighbours.sends(r); ++place) {
            const rank_t to = goal.neighbours.destination(r, place);
            if (to == no_rank) continue;
            if (!gathers) wanted.push_back({r, {}});
            wanted.back().to.push_back(to);
        }
    }
    network_bound made;
    if (at.size < 2 || blocks == 0) return made;
    const detail::network_cuts cuts(over, at.size);
    made.all_cuts = cuts.all_cuts();
    made.bandwidth_ns = cuts.bandwidth_ns_per_byte(wanted) *
                        static_cast<double>(detail::bytes_alike(bytes, blocks, 1, element_bytes) / blocks);
    const bool any = std::any_of(wanted.begin(), wanted.end(), [](const auto& d) {
        return std::any_of(d.to.begin(), d.to.end(), [&](rank_t to) { return to != d.from; });
    });
    const double nearest_ns = model.start_ns() + (any ? detail::nearest_message_ns(model, at.size) : 0);
    made.message_ns = nearest_ns + (any ? over.hop_ns * cuts.nearest() : 0);
    made.latency_ns = nearest_ns + over.hop_ns * cuts.farthest(wanted);
    return made;
}

} // namespace bough

#endif
