// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"

#include "support/catch.hpp"
#include <bough/algorithm/binary_blocks.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/reduce/ring.hpp>

using namespace bough;
using test::proven_everywhere;
using test::proven_for;

namespace {

constexpr auto allreduce_of = [](rank_t size) { return plan_allreduce(halving_doubling{}, {.size = size}); };
template <rank_t Root>
constexpr auto reduce_of =
    [](rank_t size) { return plan_reduce(halving_doubling{}, {.size = size, .root = Root % size}); };
template <distances Distance>
constexpr auto scatter_of =
    [](rank_t size) { return plan_reduce_scatter(recursive_halving{.distance = Distance}, {.size = size}); };
constexpr auto gather_of = [](rank_t size) { return plan_allgather(halving_doubling{}, {.size = size}); };
constexpr auto blocks_of = [](rank_t size) { return plan_allreduce(binary_blocks{}, {.size = size}); };
constexpr auto blocks_to = [](rank_t size) { return plan_reduce(binary_blocks{}, {.size = size, .root = size - 1}); };
constexpr auto ring_to = [](rank_t size) { return plan_reduce(ring_reduce{}, {.size = size, .root = size / 2}); };

static_assert(proven_everywhere<allreduce_of>());
static_assert(proven_everywhere<reduce_of<1>>());
static_assert(proven_everywhere<scatter_of<distances::doubling>>());
static_assert(proven_everywhere<scatter_of<distances::halving>>());
static_assert(proven_everywhere<gather_of>());
static_assert(proven_everywhere<blocks_of>());
static_assert(proven_everywhere<blocks_to>());
static_assert(proven_for<ring_to, 1, 2, 3, 5, 7, 8>());

static_assert(verify(allreduce_of(8)).traits.rounds == 6);
static_assert(verify(allreduce_of(7)).traits.rounds == 7);
static_assert(!verify(scatter_of<distances::doubling>(7)).traits.needs_commutative);
static_assert(verify(scatter_of<distances::halving>(7)).traits.needs_commutative);

} // namespace

TEST_CASE("proofs of halving, doubling, binary blocks and the ring") { SUCCEED("proved by the compiler"); }
