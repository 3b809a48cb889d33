// SPDX-License-Identifier: BSL-1.0
// Which algorithms have a name on the command line: the tables.
#include "algorithms.hpp"

#include "parse.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/allgather/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/binary_blocks.hpp>
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/allreduce/double_tree.hpp>
#include <bough/algorithm/allreduce/dual_root.hpp>
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/allreduce/trivance.hpp>
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/exscan/chain.hpp>
#include <bough/algorithm/exscan/inclusive_then_exclusive.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/algorithm/gather/tree.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/algorithm/reduce/binary_blocks.hpp>
#include <bough/algorithm/reduce/circulant.hpp>
#include <bough/algorithm/reduce/double_tree.hpp>
#include <bough/algorithm/reduce/halving_gather.hpp>
#include <bough/algorithm/reduce/ring.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/reduce_scatter/recursive_halving.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/algorithm/scan/chain.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/algorithm/swing.hpp>

namespace cli {

namespace {

template <class Goal>
bough::any_algorithm circulant_of(bough::rank_t ports) {
    if (ports == 0) throw usage_error("--degree", "circulant needs at least one port");
    return bough::algorithm_for<Goal>(bough::circulant{.ports = ports});
}

template <class Goal>
bough::any_algorithm lowest_bit_first_of(bough::rank_t limit) {
    return bough::algorithm_for<Goal>(bough::lowest_bit_first{.aggregation_limit = limit});
}

template <class Goal>
bough::any_algorithm bucket_of(const bough::grid_extents& extents, bough::rank_t ports) {
    return bough::algorithm_for<Goal>(bough::bucket{extents, ports});
}
template <class Goal>
bough::any_algorithm bucket_of_ports(bough::rank_t ports) {
    return bucket_of<Goal>({}, ports);
}

template <class Goal>
bough::any_algorithm swing_of(const bough::grid_extents& extents, bough::rank_t ports) {
    return bough::algorithm_for<Goal>(bough::swing{extents, ports});
}
template <class Goal>
bough::any_algorithm swing_of_ports(bough::rank_t ports) {
    return swing_of<Goal>({}, ports);
}

template <class A>
bough::any_algorithm trivance_of(const bough::grid_extents& extents, bough::rank_t) {
    return A{extents};
}

using list = std::vector<named_algorithm>;

list allreduce_list() {
    using goal = bough::goal::allreduce;
    return {{"recursive_doubling", "recursive_doubling", bough::recursive_doubling{}},
            {"halving_doubling", "halving_doubling_allreduce", bough::halving_doubling_allreduce{}},
            {"binary_blocks", "binary_blocks_allreduce", bough::binary_blocks_allreduce{}},
            {"per_level", "per_level_allreduce", bough::per_level_allreduce{}},
            {"per_level_exchange", "per_level_allreduce{.form = bough::level_form::exchange}",
             bough::per_level_allreduce{.form = bough::level_form::exchange}},
            {"circulant", "circulant", circulant_of<goal>(1), circulant_of<goal>},
            {"lowest_bit_first", "lowest_bit_first", lowest_bit_first_of<goal>(0), lowest_bit_first_of<goal>, nullptr,
             "aggregation_limit"},
            {"ring", "ring", bough::algorithm_for<goal>(bough::ring{})},
            {"swing", "swing", swing_of<goal>({}, 0), swing_of_ports<goal>, swing_of<goal>},
            {"bucket", "bucket", bucket_of<goal>({}, 0), bucket_of_ports<goal>, bucket_of<goal>},
            {"trivance", "trivance_allreduce", bough::trivance_allreduce{}, nullptr,
             trivance_of<bough::trivance_allreduce>},
            {"trivance_census", "inexact_trivance_census", bough::inexact_trivance_census{}, nullptr,
             trivance_of<bough::inexact_trivance_census>},
            {"double_tree", "double_tree_allreduce", bough::double_tree_allreduce{}},
            {"dual_root", "dual_root_allreduce", bough::dual_root_allreduce{},
             [](bough::rank_t arity) -> bough::any_algorithm {
                 const bough::dual_root_allreduce made{arity};
                 if (const bough::status bad = made.check({})) throw usage_error("--degree", bad.argument);
                 return made;
             },
             nullptr, "arity"},
            {"late_rank", "late_rank_allreduce", bough::late_rank_allreduce{}},
            {"slow_rank", "slow_rank_allreduce", bough::slow_rank_allreduce{}},
            {"by_owner", "by_owner_allreduce", bough::by_owner_allreduce{}},
            {"census", "inexact_census", bough::inexact_census{}}};
}
list reduce_list() {
    return {{"halving_gather", "halving_gather", bough::halving_gather{}},
            {"binary_blocks", "binary_blocks_reduce", bough::binary_blocks_reduce{}},
            {"per_level", "per_level_reduce", bough::per_level_reduce{}},
            {"ring", "ring_reduce", bough::ring_reduce{}},
            {"circulant", "circulant_reduce", bough::circulant_reduce{}},
            {"double_tree", "double_tree_reduce", bough::double_tree_reduce{}},
            {"by_owner", "by_owner_reduce", bough::by_owner_reduce{}}};
}
list broadcast_list() {
    return {{"scatter_circulant", "scatter_allgather{bough::binomial{}, bough::circulant{}}",
             bough::scatter_allgather{bough::binomial{}, bough::circulant{}}},
            {"scatter_ring", "scatter_allgather{bough::binomial{}, bough::ring{}}",
             bough::scatter_allgather{bough::binomial{}, bough::ring{}}},
            {"circulant", "circulant_broadcast", bough::circulant_broadcast{}},
            {"double_tree", "double_tree_broadcast", bough::double_tree_broadcast{}}};
}
list reduce_scatter_list() {
    using goal = bough::goal::reduce_scatter;
    return {{"recursive_halving", "recursive_halving", bough::recursive_halving{}},
            {"pairwise", "pairwise_reduce_scatter", bough::pairwise_reduce_scatter{}},
            {"by_owner", "by_owner_reduce_scatter", bough::by_owner_reduce_scatter{}},
            {"circulant", "circulant", circulant_of<goal>(1), circulant_of<goal>},
            {"lowest_bit_first", "lowest_bit_first_reduce_scatter", lowest_bit_first_of<goal>(0),
             lowest_bit_first_of<goal>, nullptr, "aggregation_limit"},
            {"ring", "ring_reduce_scatter", bough::ring_reduce_scatter{}},
            {"swing", "swing", swing_of<goal>({}, 1), nullptr, swing_of<goal>},
            {"bucket", "bucket", bucket_of<goal>({}, 0), bucket_of_ports<goal>, bucket_of<goal>}};
}
list allgather_list() {
    using goal = bough::goal::allgather;
    return {{"recursive_doubling", "recursive_doubling_allgather", bough::recursive_doubling_allgather{}},
            {"bruck", "bruck_allgather", bough::bruck_allgather{}},
            {"neighbour_exchange", "neighbour_exchange", bough::neighbour_exchange{}},
            {"circulant", "circulant", circulant_of<goal>(1), circulant_of<goal>},
            {"lowest_bit_first", "lowest_bit_first_allgather", lowest_bit_first_of<goal>(0), lowest_bit_first_of<goal>,
             nullptr, "aggregation_limit"},
            {"ring", "ring_allgather", bough::ring_allgather{}},
            {"swing", "swing", swing_of<goal>({}, 1), nullptr, swing_of<goal>},
            {"bucket", "bucket", bucket_of<goal>({}, 0), bucket_of_ports<goal>, bucket_of<goal>}};
}

template <class S>
bough::any_algorithm tree_of(collective c, const S& shape) {
    switch (c) {
    case collective::reduce: return bough::tree_reduce<S>{shape};
    case collective::broadcast: return bough::tree_broadcast<S>{shape};
    case collective::gather: return bough::tree_gather<S>{shape};
    case collective::scatter: return bough::tree_scatter<S>{shape};
    default: return bough::tree_allreduce<S>{shape};
    }
}

} // namespace

std::span<const named_algorithm> named_algorithms(collective c) {
    static const list none;
    static const list allreduce = allreduce_list(), reduce = reduce_list(), broadcast = broadcast_list(),
                      reduce_scatter = reduce_scatter_list(), allgather = allgather_list();
    static const list barrier{{"recursive_doubling", "recursive_doubling", bough::recursive_doubling{}},
                              {"dissemination", "dissemination", bough::dissemination{}}};
    static const list scan{{"recursive_doubling", "recursive_doubling_scan", bough::recursive_doubling_scan{}},
                           {"chain", "chain_scan", bough::chain_scan{}}};
    static const list exscan{
        {"recursive_doubling", "recursive_doubling_exscan", bough::recursive_doubling_exscan{}},
        {"inclusive_then_exclusive", "inclusive_then_exclusive", bough::inclusive_then_exclusive{}},
        {"chain", "chain_exscan", bough::chain_exscan{}}};
    static const list alltoall{
        {"pairwise", "pairwise_alltoall", bough::pairwise_alltoall{},
         [](bough::rank_t ahead) -> bough::any_algorithm { return bough::pairwise_alltoall{ahead}; }, nullptr, "ahead"},
        {"bruck", "bruck_alltoall", bough::bruck_alltoall{}, [](bough::rank_t ports) -> bough::any_algorithm {
             if (ports == 0) throw usage_error("--degree", "bruck needs at least one port");
             return bough::bruck_alltoall{ports};
         }}};
    switch (c) {
    case collective::allreduce: return allreduce;
    case collective::reduce: return reduce;
    case collective::broadcast: return broadcast;
    case collective::barrier: return barrier;
    case collective::reduce_scatter: return reduce_scatter;
    case collective::allgather: return allgather;
    case collective::scan: return scan;
    case collective::exscan: return exscan;
    case collective::alltoall: return alltoall;
    case collective::gather:
    case collective::scatter:
    case collective::neighbour_allgather:
    case collective::neighbour_alltoall: break;
    }
    return none;
}

bool has_trees(collective c) {
    return c == collective::reduce || c == collective::allreduce || c == collective::broadcast ||
           c == collective::barrier || c == collective::gather || c == collective::scatter;
}

bough::any_algorithm tree_algorithm(collective c, const any_shape& shape, bool ordered) {
    if (ordered) return tree_of(c, bough::ordered<any_shape>{shape});
    return tree_of(c, shape);
}

} // namespace cli
