// SPDX-License-Identifier: BSL-1.0
// The tree sources and plans of bough, for tests that hold for all of them.
#ifndef BOUGH_TEST_SUPPORT_PLANS_HPP
#define BOUGH_TEST_SUPPORT_PLANS_HPP

#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/gather/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/table.hpp>

#include <vector>

namespace test {

// Calls f(name, source, keeps_order) for each tree source; keeps_order: documented to keep rank order at this root.
template <class F>
constexpr void for_each_source(const bough::dimensions& at, F f) {
    using namespace bough;
    const bool front = at.root == 0;
    f("binomial low", binomial{}, front);
    f("binomial high", binomial{.orientation = orientation::high}, false);
    f("fnomial 3", fnomial{.degree = 3}, front);
    f("fnomial 4", fnomial{.degree = 4}, front);
    f("degree_k 3", degree_k{.k = 3}, front);
    f("kary 2", kary{.arity = 2}, false);
    f("kary 3", kary{.arity = 3}, false);
    f("chain", chain{}, front);
    f("flat", flat{}, front);
    f("ordered fnomial 3", ordered<fnomial>{{.degree = 3}}, true);
    f("ordered chain", ordered<chain>{}, true);
    f("table of kary 2", table{tree{kary{.arity = 2}, at.size, at.root}}, false);
}

// Calls f(name, plan) for each plan of these dimensions.
template <class F>
constexpr void for_each_plan(const bough::dimensions& at, F f) {
    using namespace bough;
    for_each_source(at, [&](const char* name, const auto& source, bool) {
        f(name, plan_reduce(source, at));
        f(name, plan_broadcast(source, at));
        f(name, plan_allreduce(source, at));
        f(name, plan_reduce(reverse(tree_broadcast{source}), at));
        f(name, plan_reduce(tree_reduce{source, 1}, at));
        f(name, plan_allreduce(tree_allreduce{source, 2}, at));
        if (at.blocks == at.size || at.blocks == natural_blocks) {
            f(name, plan_gather(source, at));
            f(name, plan_scatter(source, at));
        }
    });
    f("recursive doubling", plan_allreduce(recursive_doubling{}, at));
    if (at.blocks == 1 || at.blocks == natural_blocks) f("dissemination", plan_barrier(dissemination{}, at));
}

} // namespace test

#endif
