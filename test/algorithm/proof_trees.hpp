// SPDX-License-Identifier: BSL-1.0
// Proofs at compile time over trees of every kind, for any collective that takes a tree source.
//
//   struct reduces { constexpr auto operator()(const auto& tree, dimensions at) const { return plan_reduce(tree, at); } };
//   static_assert(test::proven_over_trees<reduces>());
#ifndef BOUGH_TEST_ALGORITHM_PROOF_TREES_HPP
#define BOUGH_TEST_ALGORITHM_PROOF_TREES_HPP

#include "proof.hpp"
#include <bough/algorithm/tree_source.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/table.hpp>

namespace test {

template <class Planner, auto Source, bough::rank_t Root = 0, bough::block_t Blocks = bough::natural_blocks>
constexpr auto over =
    [](bough::rank_t size) { return Planner{}(Source, {.size = size, .root = Root % size, .blocks = Blocks}); };

// An explicit tree; its root is the last rank.
template <class Planner>
constexpr auto over_table = [](bough::rank_t size) {
    using namespace bough;
    return Planner{}(table{tree{kary{.arity = 2}, size, size - 1}}, {.size = size, .root = size - 1});
};

template <class Planner>
consteval bool proven_over_trees() {
    constexpr bough::binomial high{.orientation = bough::orientation::high};
    static_assert(proven_everywhere<over<Planner, bough::binomial{}>>());
    static_assert(proven_everywhere<over<Planner, bough::binomial{}, 4>>()); // cyclic: a subtree may be two intervals
    static_assert(proven_everywhere<over<Planner, high>>());
    static_assert(proven_everywhere<over<Planner, high, 3>>());
    static_assert(proven_everywhere<over<Planner, bough::fnomial{.degree = 3}, 2>>());
    static_assert(proven_everywhere<over<Planner, bough::fnomial{.degree = 4}>>());
    static_assert(proven_everywhere<over<Planner, bough::degree_k{.k = 3}>>());
    static_assert(proven_everywhere<over<Planner, bough::kary{.arity = 2}, 1>>());
    static_assert(proven_everywhere<over<Planner, bough::kary{.arity = 3}>>());
    static_assert(proven_everywhere<over<Planner, bough::chain{}>>());
    static_assert(proven_everywhere<over<Planner, bough::flat{}, 1>>());
    static_assert(proven_everywhere<over<Planner, bough::ordered<bough::fnomial>{{.degree = 3}}>>());
    static_assert(proven_everywhere<over<Planner, bough::ordered<bough::fnomial>{{.degree = 3}}, 6>>());
    static_assert(proven_everywhere<over_table<Planner>>());
    return true;
}

} // namespace test

#endif
