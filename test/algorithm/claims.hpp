// SPDX-License-Identifier: BSL-1.0
// What every plan of an algorithm must be: right, with the claims of its algorithm, with few eager slots,
// too, and with neither more nor less scratch than declared.
#ifndef BOUGH_TEST_ALGORITHM_CLAIMS_HPP
#define BOUGH_TEST_ALGORITHM_CLAIMS_HPP

#include "scratch_used.hpp"
#include "support/catch.hpp"
#include <bough/schedule/plan.hpp>
#include <bough/verify/verify_claims.hpp>

namespace test {

template <bough::Plan P>
bough::plan_traits prove_with_claims(const P& plan) {
    const bough::claim_verdict found = bough::verify_claims(plan);
    REQUIRE(found);
    REQUIRE(bough::verify(plan, {.eager_slots = 2}));
    for (bough::rank_t r = 0; r != plan.size(); ++r) REQUIRE(scratch_used(plan, r) == plan.scratch(r));
    return found.proof.traits;
}

} // namespace test

#endif
