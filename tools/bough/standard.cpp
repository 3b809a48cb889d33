// SPDX-License-Identifier: BSL-1.0
// The standard candidates of each collective.
#include "algorithms.hpp"
#include <bough/select/late_ranks.hpp>
#include <bough/select/standard/allgather.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/alltoall.hpp>
#include <bough/select/standard/barrier.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/exscan.hpp>
#include <bough/select/standard/gather.hpp>
#include <bough/select/standard/neighbours.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/reduce_scatter.hpp>
#include <bough/select/standard/scan.hpp>
#include <bough/select/standard/scatter.hpp>

#include <cstdint>
#include <vector>

namespace cli {

namespace {

bough::candidate_list candidates_by_costs(collective c, const bough::dimensions& at, const bough::problem& what,
                                          const bough::requirements& needed, const bough::any_cost_model& costs) {
    switch (c) {
    case collective::reduce: return bough::standard_candidates<bough::goal::reduce>(at, what, needed, costs);
    case collective::allreduce: return bough::standard_candidates<bough::goal::allreduce>(at, what, needed, costs);
    case collective::broadcast: return bough::standard_candidates<bough::goal::broadcast>(at, what, needed, costs);
    case collective::reduce_scatter:
        return bough::standard_candidates<bough::goal::reduce_scatter>(at, what, needed, costs);
    case collective::allgather: return bough::standard_candidates<bough::goal::allgather>(at, what, needed, costs);
    case collective::scan: return bough::standard_candidates<bough::goal::scan>(at, what, needed, costs);
    case collective::exscan: return bough::standard_candidates<bough::goal::exscan>(at, what, needed, costs);
    case collective::alltoall: return bough::standard_candidates<bough::goal::alltoall>(at, what, needed, costs);
    case collective::gather: return bough::standard_candidates<bough::goal::gather>(at, what, needed, costs);
    case collective::scatter: return bough::standard_candidates<bough::goal::scatter>(at, what, needed, costs);
    case collective::barrier: return bough::standard_candidates<bough::goal::barrier>(at, what, needed, costs);
    case collective::neighbour_allgather:
    case collective::neighbour_alltoall: break;
    }
    return {};
}

} // namespace

bough::candidate_list standard_candidates(collective c, const bough::dimensions& at, const bough::problem& what,
                                          const bough::requirements& needed, const bough::any_cost_model& costs,
                                          const std::vector<std::uint64_t>& arrivals_ns) {
    bough::candidate_list made = candidates_by_costs(c, at, what, needed, costs);
    if (c == collective::allreduce && !arrivals_ns.empty()) bough::add_late_rank(made, at, what, arrivals_ns);
    return made;
}

bough::candidate_list neighbour_candidates(collective c, const bough::neighbourhood& around) {
    if (c == collective::neighbour_allgather)
        return bough::neighbour_candidates<bough::goal::neighbour_allgather>(around);
    return bough::neighbour_candidates<bough::goal::neighbour_alltoall>(around);
}

} // namespace cli
