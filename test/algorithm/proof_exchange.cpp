// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"

#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>

using namespace bough;
using test::proven_everywhere;

namespace {

template <block_t Blocks>
constexpr auto doubling =
    [](rank_t size) { return plan_allreduce(recursive_doubling{}, {.size = size, .blocks = Blocks}); };
static_assert(proven_everywhere<doubling<1>>() && proven_everywhere<doubling<3>>() && proven_everywhere<doubling<0>>());

constexpr auto barrier = [](rank_t size) { return plan_barrier(dissemination{}, {.size = size}); };
static_assert(proven_everywhere<barrier>());

// The picture in recursive_doubling.hpp.
constexpr plan_traits seven = verify(doubling<1>(7)).traits;
static_assert(seven.rounds == 4 && seven.depth == 3 && seven.messages == 3 + 8 + 3 && seven.rank_consistent);
static_assert(!seven.needs_commutative && !seven.needs_idempotent && seven.scratch_max == 1);

// Knowledge comes twice where the size is no power of two: fine for a barrier, wrong for a sum.
static_assert(!verify(barrier(8)).traits.needs_idempotent && verify(barrier(7)).traits.needs_idempotent);
struct summing : dissemination {
    using serves = goals<goal::allreduce>;
};
static_assert(verify(plan_allreduce(summing{}, {.size = 7})).fault == fault::repeated_contribution);
static_assert(proven<verify(plan_allreduce(summing{}, {.size = 8}))>());

} // namespace

TEST_CASE("proofs of the exchanges") { SUCCEED("proved by the compiler"); }
