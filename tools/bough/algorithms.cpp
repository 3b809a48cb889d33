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
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/exscan/one_two_three_doubling.hpp>
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
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/algorithm/scatter/tree.hpp>

namespace cli {

namespace {

template <class Goal>
bough::any_algorithm circulant_of(bough::rank_t ports) {
    if (ports == 0) throw usage_error("--degree", "circulant needs at least one port");
    return bough::algorithm_for<Goal>(bough::circulant{.ports = ports});
}

using list = std::vector<named_algorithm>;

list allreduce_list() {
    using goal = bough::goal::allreduce;
    return {{"recursive_doubling", bough::recursive_doubling{}},
            {"halving_doubling", bough::halving_doubling_allreduce{}},
            {"binary_blocks", bough::binary_blocks_allreduce{}},
            {"per_level", bough::per_level_allreduce{}},
            {"per_level_exchange", bough::per_level_allreduce{.form = bough::level_form::exchange}},
            {"circulant", circulant_of<goal>(1), circulant_of<goal>},
            {"lowest_bit_first", bough::algorithm_for<goal>(bough::lowest_bit_first{})},
            {"ring", bough::algorithm_for<goal>(bough::ring{})},
            {"double_tree", bough::double_tree_allreduce{}},
            {"census", bough::inexact_census{}}};
}
list reduce_list() {
    return {{"halving_gather", bough::halving_gather{}}, {"binary_blocks", bough::binary_blocks_reduce{}},
            {"per_level", bough::per_level_reduce{}},    {"ring", bough::ring_reduce{}},
            {"circulant", bough::circulant_reduce{}},    {"double_tree", bough::double_tree_reduce{}}};
}
list broadcast_list() {
    return {{"scatter_circulant", bough::scatter_allgather{bough::binomial{}, bough::circulant{}}},
            {"scatter_ring", bough::scatter_allgather{bough::binomial{}, bough::ring{}}},
            {"circulant", bough::circulant_broadcast{}},
            {"double_tree", bough::double_tree_broadcast{}}};
}
list reduce_scatter_list() {
    using goal = bough::goal::reduce_scatter;
    return {{"recursive_halving", bough::recursive_halving{}},
            {"pairwise", bough::pairwise_reduce_scatter{}},
            {"circulant", circulant_of<goal>(1), circulant_of<goal>},
            {"lowest_bit_first", bough::lowest_bit_first_reduce_scatter{}},
            {"ring", bough::ring_reduce_scatter{}}};
}
list allgather_list() {
    using goal = bough::goal::allgather;
    return {{"recursive_doubling", bough::recursive_doubling_allgather{}},
            {"bruck", bough::bruck_allgather{}},
            {"neighbour_exchange", bough::neighbour_exchange{}},
            {"circulant", circulant_of<goal>(1), circulant_of<goal>},
            {"lowest_bit_first", bough::lowest_bit_first_allgather{}},
            {"ring", bough::ring_allgather{}}};
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
    static const list barrier{{"recursive_doubling", bough::recursive_doubling{}},
                              {"dissemination", bough::dissemination{}}};
    static const list scan{{"recursive_doubling", bough::recursive_doubling_scan{}}};
    static const list exscan{{"recursive_doubling", bough::recursive_doubling_exscan{}},
                             {"one_two_three_doubling", bough::one_two_three_doubling{}}};
    static const list alltoall{{"pairwise", bough::pairwise_alltoall{}}, {"bruck", bough::bruck_alltoall{}}};
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
    case collective::scatter: break;
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
