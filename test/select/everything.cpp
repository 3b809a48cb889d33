// SPDX-License-Identifier: BSL-1.0
// Compiled alone: other files call it.
#include "everything.hpp"

#include <bough/algorithm/allgather/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/binary_blocks.hpp>
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/allreduce/double_tree.hpp>
#include <bough/algorithm/allreduce/dual_root.hpp>
#include <bough/algorithm/broadcast/double_tree.hpp>
#include <bough/algorithm/broadcast/scatter_allgather.hpp>
#include <bough/algorithm/reduce/binary_blocks.hpp>
#include <bough/algorithm/reduce/double_tree.hpp>
#include <bough/algorithm/reduce/ring.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/select/standard/allgather.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/alltoall.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/exscan.hpp>
#include <bough/select/standard/gather.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/reduce_scatter.hpp>
#include <bough/select/standard/scan.hpp>
#include <bough/select/standard/scatter.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/kary.hpp>

namespace test {

using namespace bough;

namespace {
constexpr problem large{.bytes = 1 << 14}; // so that every kind of candidate is there
} // namespace

candidate_list everything_for_reduce(const dimensions& at) {
    auto all = standard_candidates<goal::reduce>(at, large);
    all.add(tree_reduce{fnomial{3}}).add(tree_reduce{binomial{}}).add(tree_reduce{binomial{orientation::high}});
    all.add(tree_reduce{kary{2}}).add(tree_reduce{flat{}}, 3).add(tree_reduce{ordered{flat{}}});
    all.add(binary_blocks_reduce{}).add(ring_reduce{}).add(double_tree_reduce{});
    return all.add(reverse(tree_broadcast{fnomial{3}}));
}
candidate_list everything_for_allreduce(const dimensions& at) {
    auto all = standard_candidates<goal::allreduce>(at, large);
    all.add(tree_allreduce{fnomial{3}}).add(tree_allreduce{binomial{}}).add(tree_allreduce{chain{}}, 4);
    all.add(tree_allreduce{binomial{orientation::high}}).add(tree_allreduce{kary{3}}).add(tree_allreduce{flat{}});
    all.add(binary_blocks_allreduce{}).add(double_tree_allreduce{}).add(inexact_census{});
    all.add(dual_root_allreduce{}).add(dual_root_allreduce{.arity = 1, .slack = false}, 5);
    return all.add(algorithm_for<goal::allreduce>(circulant{.ports = 2}));
}
candidate_list everything_for_broadcast(const dimensions& at) {
    auto all = standard_candidates<goal::broadcast>(at, large);
    all.add(scatter_allgather{binomial{}, circulant_allgather{}}).add(double_tree_broadcast{});
    return all;
}
candidate_list everything_for_reduce_scatter(const dimensions& at) {
    auto all = standard_candidates<goal::reduce_scatter>(at, large);
    all.add(circulant_reduce_scatter{.ports = 3}).add(recursive_halving{distances::halving});
    return all;
}
candidate_list everything_for_allgather(const dimensions& at) {
    auto all = standard_candidates<goal::allgather>(at, large);
    all.add(circulant_allgather{.ports = 3}).add(bruck_allgather{.ports = 2}).add(recursive_doubling_allgather{});
    return all;
}
candidate_list everything_for_scan(const dimensions& at) { return standard_candidates<goal::scan>(at, large); }
candidate_list everything_for_exscan(const dimensions& at) { return standard_candidates<goal::exscan>(at, large); }
candidate_list everything_for_alltoall(const dimensions& at) { return standard_candidates<goal::alltoall>(at, large); }
candidate_list everything_for_gather(const dimensions& at) { return standard_candidates<goal::gather>(at, large); }
candidate_list everything_for_scatter(const dimensions& at) { return standard_candidates<goal::scatter>(at, large); }

} // namespace test
