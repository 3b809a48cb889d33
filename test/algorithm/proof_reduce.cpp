// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"

#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/table.hpp>

using namespace bough;
using test::proven_everywhere;
using test::proven_for;

namespace {

template <auto Source, rank_t Root = 0, block_t Blocks = 1>
constexpr auto over =
    [](rank_t size) { return plan_reduce(Source, {.size = size, .root = Root % size, .blocks = Blocks}); };

static_assert(proven_everywhere<over<binomial{}>>());
static_assert(proven_everywhere<over<binomial{.orientation = orientation::high}>>());
static_assert(proven_everywhere<over<fnomial{.degree = 3}>>());
static_assert(proven_everywhere<over<fnomial{.degree = 4}, 2>>());
static_assert(proven_everywhere<over<degree_k{.k = 3}>>());
static_assert(proven_everywhere<over<kary{.arity = 2}>>());
static_assert(proven_everywhere<over<kary{.arity = 3}, 1>>());
static_assert(proven_everywhere<over<chain{}>>());
static_assert(proven_everywhere<over<flat{}>>());
static_assert(proven_everywhere<over<ordered<fnomial>{{.degree = 3}}>>());
static_assert(proven_everywhere<over<ordered<fnomial>{{.degree = 3}}, 1>>());
static_assert(proven_everywhere<over<ordered<fnomial>{{.degree = 3}}, 6>>());
static_assert(proven_everywhere<over<binomial{}, 4, 3>>()); // several blocks
static_assert(proven_everywhere<over<binomial{}, 0, 0>>()); // no data at all

// An explicit tree.
constexpr auto over_table = [](rank_t size) {
    return plan_reduce(table{tree{kary{.arity = 2}, size, size - 1}}, {.size = size, .root = size - 1});
};
static_assert(proven_everywhere<over_table>());

// Children that land in fewer planes wait for each other.
template <std::uint32_t Landing>
constexpr auto landing = [](rank_t size) {
    return plan_reduce(tree_reduce{fnomial{.degree = 3}, Landing}, {.size = size, .blocks = 2});
};
static_assert(proven_everywhere<landing<1>>() && proven_everywhere<landing<2>>());

// The example of the documentation: nine ranks, degree 3.
constexpr plan_traits nine = verify(plan_reduce(fnomial{.degree = 3}, {.size = 9})).traits;
static_assert(nine.rounds == 4 && nine.depth == 4 && nine.messages == 8 && nine.combines == 8 &&
              !nine.needs_commutative);

} // namespace

TEST_CASE("proofs of reduce") { SUCCEED("proved by the compiler"); }
