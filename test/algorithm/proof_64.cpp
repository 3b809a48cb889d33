// SPDX-License-Identifier: BSL-1.0
// A full proof of an allreduce of 64 ranks at compile time, within the compilers' own limits. (clang's is the tight one:
// 1048576 steps, of which this takes about half.)
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/verify/verify.hpp>

using namespace bough;

namespace {

constexpr verdict proof = verify(plan_allreduce(binomial{}, {.size = 64}));
static_assert(proven<proof>());
static_assert(proof.traits.rounds == 12 && proof.traits.messages == 126 && !proof.traits.needs_commutative);

} // namespace

TEST_CASE("a proof of 64 ranks at compile time") { SUCCEED("proved by the compiler"); }
