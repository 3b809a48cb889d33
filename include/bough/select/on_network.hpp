// SPDX-License-Identifier: BSL-1.0
// Chooses by simulated runs over a network, where a model of pairs of ranks does not know what links
// messages share. Adds the candidates that are made for the network.
//
//   auto from = standard_candidates<goal::allreduce>(at, what);
//   add_network_candidates(from, at, what, network);
//   // on a torus or a mesh: swing, bucket, trivance; with one slow cable: slow_rank; where switches have
//   // groups of hosts: swing on a ring; on ranks in a row: dual_root; on up to 8 ranks: packed trees
//   decision d = choose(from, at, what, on_network{network, model});
//
// The price of a plan is its simulated run (bough/simulate/simulate.hpp), also where the model says that
// long messages need both their ranks (bough/model/rendezvous.hpp). Before that, each plan gets a
// lower bound: what its messages put on the busiest link, divided by the link's speed. Candidates are
// simulated in the order of these bounds, until the bound says that the rest cannot win. A plan with more
// than options.most_steps messages is left unpriced, unless options.price_all; if all have more, the one
// with the least bound wins.
// A pure function of its arguments, on which all ranks must agree. Shared cores (problem::cores) and
// a late rank (problem::late) are not looked at.
// Pre: network.check(at.size) is ok.
#ifndef BOUGH_SELECT_ON_NETWORK_HPP
#define BOUGH_SELECT_ON_NETWORK_HPP

#include <bough/algorithm/allreduce/dual_root.hpp>
#include <bough/algorithm/allreduce/trivance.hpp>
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/swing.hpp>
#include <bough/concepts/cost_model.hpp>
#include <bough/core/contract.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/pack_trees.hpp>
#include <bough/select/plan_ref.hpp>
#include <bough/select/slow_ranks.hpp>
#include <bough/select/standard_set.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/network_traffic.hpp>
#include <bough/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The network, and what messages cost beside it.
template <CostModel M>
struct on_network {
    const network& over;
    const M& model;
};
template <class M>
on_network(const network&, const M&) -> on_network<M>;

namespace detail {

template <int = 0>
void add_slow_cable(candidate_list& made, const dimensions& at, const problem& what, const network& over) {
    std::vector<double> speed(over.hosts(), 0.0);
    for (const network::link& l : over.links())
        if (l.from < over.hosts()) speed[l.from] += l.bytes_per_ns;
    rank_t slowest = 0;
    double others = std::numeric_limits<double>::infinity(); // the slowest of them
    for (rank_t r = 1; r != at.size; ++r) {
        const double now = speed[over.host_of(r)], least = speed[over.host_of(slowest)];
        others = std::min(others, std::max(now, least));
        if (now < least) slowest = r;
    }
    if (at.size >= 3 && speed[over.host_of(slowest)] < others) add_around(made, slowest, at, what);
}

// Have at least two switches several hosts each?
inline bool has_groups(const network& over) {
    std::vector<std::uint32_t> hosts(std::size_t{over.hosts()} + over.switches(), 0);
    for (const network::link& l : over.links())
        if (l.from < over.hosts() && l.to >= over.hosts()) ++hosts[l.to];
    return std::count_if(hosts.begin(), hosts.end(), [](std::uint32_t count) { return count > 1; }) > 1;
}

// What sends little between groups, whether or not they are aligned with powers of two.
template <int = 0>
void add_for_groups(candidate_list& made) {
    if (made.kind == goal::allreduce::kind) made.add(swing_allreduce{.ports = 1});
    if (made.kind == goal::reduce_scatter::kind) made.add(swing_reduce_scatter{});
    if (made.kind == goal::allgather::kind) made.add(swing_allgather{});
}

// Do the ranks stand in a row: are all of them on a shortest way from the first to the last, in their order?
template <int = 0>
bool in_a_row(const dimensions& at, const network& over) {
    std::vector<std::uint32_t> path;
    const auto between = [&](rank_t a, rank_t b) { // links, less the cables of the two hosts
        path.clear();
        over.path(over.host_of(a), over.host_of(b), path);
        return path.size() < 3 ? 0 : path.size() - 2;
    };
    std::size_t steps = 0;
    for (rank_t r = 1; r != at.size; ++r) {
        const std::size_t step = between(r - 1, r);
        if (step == 0) return false; // on one host, or one switch
        steps += step;
    }
    return between(0, at.size - 1) == steps;
}

// The trees that carry most over this network, in 4, 16, 64, ... chunks of at most 1024 blocks in all.
template <class Goal>
void add_packed_trees(candidate_list& made, const dimensions& at, const problem& what, const network& over) {
    if (what.bytes / 4 < 512) return;
    const tree_packing<Goal> found = pack_trees<Goal>(over, {.size = at.size, .root = at.root});
    for (block_t blocks = 4 * found.trees(); blocks <= 1024 && what.bytes / blocks >= 512; blocks *= 4)
        made.add(found.algorithm, blocks);
}
// What a search takes a tenth of a second for, at most.
inline constexpr rank_t most_ranks_packed = 8;

} // namespace detail

// On a torus or a mesh with a rank on each host, in the order of hosts: swing and bucket, for allreduce,
// reduce_scatter and allgather; and trivance, for allreduce, if the extents are powers of three. (The ends
// of a mesh have no cable between them, so what closes a ring crosses the mesh; the price says what that
// takes.) If all that joins one rank's host is slower than that of any other: slow_rank, for allreduce. If
// several switches have several hosts each: swing on one ring, for these three. If the ranks stand in a
// row, as on a mesh of one dimension: dual_root, for allreduce. For broadcast, reduce, allreduce, allgather
// and reduce_scatter among up to 8 ranks: packed trees, which a search finds for this network.
template <int = 0>
void add_network_candidates(candidate_list& made, const dimensions& at, const problem& what, const network& over) {
    if (at.size < 2) return;
    if (made.kind == goal::allreduce::kind) detail::add_slow_cable(made, at, what, over);
    if (detail::has_groups(over)) detail::add_for_groups(made);
    if (made.kind == goal::allreduce::kind && at.size > 2 && detail::in_a_row(at, over))
        detail::add_segmented(made, dual_root_allreduce{.arity = 1, .slack = false}, at, what);
    if (at.size <= detail::most_ranks_packed) {
        if (made.kind == goal::broadcast::kind) detail::add_packed_trees<goal::broadcast>(made, at, what, over);
        if (made.kind == goal::reduce::kind) detail::add_packed_trees<goal::reduce>(made, at, what, over);
        if (made.kind == goal::allreduce::kind) detail::add_packed_trees<goal::allreduce>(made, at, what, over);
        if (made.kind == goal::allgather::kind) detail::add_packed_trees<goal::allgather>(made, at, what, over);
        if (made.kind == goal::reduce_scatter::kind)
            detail::add_packed_trees<goal::reduce_scatter>(made, at, what, over);
    }
    if (over.extents.empty() || over.extents.size() > grid_extents::most || at.size != over.hosts()) return;
    for (rank_t r = 0; r != at.size; ++r)
        if (over.host_of(r) != r) return;
    grid_extents grid;
    for (const std::uint32_t e : over.extents) grid.add(e);
    if (made.kind == goal::allreduce::kind) {
        made.add(swing_allreduce{grid});
        if (detail::ports_of_torus(grid) != 1) made.add(swing_allreduce{grid, 1});
        made.add(bucket_allreduce{grid});
        if (!detail::trivance_rounds::check(grid, at.size)) {
            made.add(trivance_allreduce{grid});
            if (what.exact_op) made.add(trivance_census{grid});
        }
    }
    if (made.kind == goal::reduce_scatter::kind) {
        made.add(swing_reduce_scatter{grid});
        made.add(bucket_reduce_scatter{grid});
    }
    if (made.kind == goal::allgather::kind) {
        made.add(swing_allgather{grid});
        made.add(bucket_allgather{grid});
    }
}

// Chooses among candidates by simulated runs. at.blocks does not matter.
template <CostModel M>
decision choose(const candidate_list& from, const dimensions& at, const problem& what, const on_network<M>& prices,
                const choose_options& options = {}) {
    decision made = detail::sort_out(from, at, what, options.needed);
    made.on_network = true;
    made.last_arrival_ns = detail::last_arrival_ns(prices.model, problem{}, at.size);
    struct open {
        std::size_t index;
        double bound_ns;
        std::uint64_t messages;
    };
    std::vector<open> order;
    for (std::size_t i = 0; i != made.prospects.size(); ++i) {
        const prospect& p = made.prospects[i];
        if (p.excluded != exclusion::none) continue;
        const problem seen = problem_for(p.what.algorithm, what);
        const plan_ref plan(p.what.algorithm, {at.size, at.root, p.blocks});
        const link_traffic load = traffic(plan, prices.over, seen.bytes, seen.element_bytes);
        order.push_back({i, load.busiest_ns, load.messages});
    }
    std::sort(order.begin(), order.end(), [](const open& a, const open& b) {
        return a.bound_ns != b.bound_ns ? a.bound_ns < b.bound_ns : a.index < b.index;
    });
    const auto costs = detail::share_cores(prices.model, problem{}, at.size);
    double best_ns = std::numeric_limits<double>::infinity();
    for (const open& one : order) {
        prospect& p = made.prospects[one.index];
        p.predicted_ns = one.bound_ns;
        if (!options.price_all && one.bound_ns >= best_ns) {
            p.at_least = true;
            continue;
        }
        if (!options.price_all && one.messages > options.most_steps) {
            detail::leave_out(p, exclusion::too_many_steps);
            continue;
        }
        const plan_ref plan(p.what.algorithm, {at.size, at.root, p.blocks});
        const problem seen = problem_for(p.what.algorithm, what);
        const sim_result run =
            simulate(plan, costs, {.bytes = seen.bytes, .element_bytes = seen.element_bytes, .network = &prices.over});
        p.predicted_ns = run.makespan_ns;
        if (run.deadlock())
            detail::leave_out(p, exclusion::deadlock);
        else if (!detail::is_finite_cost(p.predicted_ns))
            detail::leave_out(p, exclusion::no_price);
        else
            best_ns = std::min(best_ns, p.predicted_ns);
    }
    // If all have too many messages, the one with the least bound is taken.
    for (const open& one : order) {
        prospect& p = made.prospects[one.index];
        if (best_ns != std::numeric_limits<double>::infinity()) break;
        if (p.excluded != exclusion::too_many_steps || !detail::is_finite_cost(one.bound_ns)) continue;
        p.excluded = exclusion::none;
        p.about = true;
        best_ns = p.predicted_ns = one.bound_ns;
    }
    detail::put_winner_first(made, best_ns);
    if (made && options.through) add_ways(made, options.through);
    return made;
}

} // namespace bough

#endif
