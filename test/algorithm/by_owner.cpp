// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/by_owner.hpp>
#include <bough/core/freeze.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/verify/verify_claims.hpp>

#include <array>

using namespace bough;
using test::proven_for;

namespace {

constexpr auto scattered = [](rank_t size) { return plan_reduce_scatter(by_owner{}, {.size = size}); };
constexpr auto everywhere = [](rank_t size) { return plan_allreduce(by_owner{}, {.size = size}); };
constexpr auto at_last = [](rank_t size) { return plan_reduce(by_owner{}, {.size = size, .root = size - 1}); };

static_assert(proven_for<scattered, 1, 2, 3, 5, 7>());
static_assert(proven_for<everywhere, 1, 2, 3, 5, 7>());
static_assert(proven_for<at_last, 1, 2, 3, 5, 7>());
static_assert(combines_in_series(by_owner_allreduce{}) && combines_in_series(by_owner_reduce{}) &&
              combines_in_series(by_owner_reduce_scatter{}));

// The picture of the header: ((0 + 1) + 2) + 3 at rank 2 of 4, which sends its block to 3 0 1.
constexpr slice part(bough::buffer b, block_t first) { return {b, first, 1}; }
static_assert(freeze<[] { return everywhere(4).schedule_of(2).steps; }>() ==
              std::array{send_step(3, part(input, 3)), receive_step(1, part(scratch(1), 2)),
                         send_step(0, part(input, 0)), receive_step(0, part(scratch(0), 2)),
                         send_step(1, part(input, 1)), receive_step(3, part(scratch(3), 2)),
                         combine_step(part(scratch(0), 2), part(scratch(1), 2), part(scratch(2), 2)),
                         combine_step(part(scratch(2), 2), part(input, 2), part(scratch(2), 2)),
                         combine_step(part(scratch(2), 2), part(scratch(3), 2), part(output, 2)),
                         send_step(3, part(output, 2)), receive_step(1, part(output, 1)), send_step(0, part(output, 2)),
                         receive_step(0, part(output, 0)), send_step(1, part(output, 2)),
                         receive_step(3, part(output, 3))});
static_assert(check_plan(by_owner_allreduce{}, {.size = 7, .blocks = 1}).code == errc::invalid_argument);

} // namespace

TEST_CASE("by_owner: one bracket for all elements, roots and collectives", "[algorithm]") {
    for (rank_t p = 1; p <= 19; ++p) {
        CAPTURE(p);
        const claim_verdict all = verify_claims(everywhere(p)), own = verify_claims(scattered(p));
        REQUIRE(all);
        REQUIRE(own);
        CHECK(all.proof.traits.position_invariant);
        CHECK_FALSE(all.proof.traits.needs_commutative);
        CHECK(all.proof.traits.depth == p - 1);
        CHECK(all.proof.traits.messages == std::uint64_t{2} * p * (p - 1));
        CHECK(all.proof.traits.volume_max == std::uint64_t{2} * (p - 1));
        CHECK(all.proof.traits.combines_max == p - 1);
        CHECK(all.proof.traits.bracket == own.proof.traits.bracket);
        CHECK(all.proof.traits.scratch_max == (p == 1 ? 0 : p - 1 + (p > 2 ? 1 : 0)));
        for (rank_t root = 0; root != p; ++root) {
            const claim_verdict one = verify_claims(plan_reduce(by_owner{}, {.size = p, .root = root}));
            REQUIRE(one);
            CHECK(one.proof.traits.bracket == all.proof.traits.bracket);
        }
    }
}

TEST_CASE("by_owner: held in an any_algorithm it still says that it combines in series", "[algorithm]") {
    CHECK(combines_in_series(any_algorithm(by_owner_reduce{})));
    CHECK(combines_in_series(any_algorithm::of<goal::allreduce>(by_owner{})));
}
