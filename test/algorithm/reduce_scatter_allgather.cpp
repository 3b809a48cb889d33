// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/allreduce/reduce_scatter_allgather.hpp>
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/schedule/print.hpp>

using namespace bough;
using test::proven_for;

namespace {

template <auto Choice>
constexpr auto by = [](rank_t size) { return plan_allreduce(Choice, {.size = size}); };

static_assert(proven_for<by<ring{}>, 1, 2, 3, 5, 7>());
static_assert(proven_for<by<circulant{}>, 1, 2, 3, 5, 7, 8>());
static_assert(proven_for<by<circulant{.ports = 3}>, 1, 2, 7>());
static_assert(proven_for<by<lowest_bit_first{}>, 1, 2, 3, 5, 7>());
static_assert(proven_for<by<reduce_scatter_allgather{pairwise_reduce_scatter{}, circulant{}}>, 1, 2, 3, 7>());
static_assert(proven_for<by<reduce_scatter_allgather{reverse(neighbour_exchange{}, 1), neighbour_exchange{}}>, 2, 6>());

// A family is what it makes; halves may be families too.
static_assert(by<reduce_scatter_allgather{ring{}, circulant{}}>(7).schedule_of(3) ==
              by<reduce_scatter_allgather{ring_reduce_scatter{}, circulant_allgather{}}>(7).schedule_of(3));
static_assert(algorithm_for<goal::allreduce>(circulant{.ports = 2}) ==
              reduce_scatter_allgather{circulant_reduce_scatter{2}, circulant_allgather{2}});

// Nothing is copied but by a rank that is alone, and, for an odd number, one block that no message came for.
constexpr auto copies = [](const auto& plan) {
    step_counts counts;
    for (rank_t r = 0; r != plan.size(); ++r) plan.emit(r, counts);
    return counts.blocks_copied;
};
static_assert(copies(by<circulant{}>(8)) == 0 && copies(by<circulant{}>(7)) == 7 && copies(by<ring{}>(7)) == 0);
static_assert(copies(by<lowest_bit_first{}>(7)) == 0 && copies(by<ring{}>(1)) == 1);

// Partial results lie in the output: scratch is for landing alone.
static_assert(by<circulant{}>(13).scratch(5) == 6 && by<ring{}>(13).scratch(5) == 12);

// Claims come from the halves.
using ordered_first = reduce_scatter_allgather<pairwise_reduce_scatter, circulant>;
static_assert(keeps_rank_order(ordered_first{}, {.size = 7}) && !ordered_first::symmetric && ordered_first::any_size);
using pairs = reduce_scatter_allgather<reversed<neighbour_exchange>, neighbour_exchange>;
static_assert(!pairs::any_size && !pairs::may_hold && check_plan(pairs{}, {.size = 7}).code == errc::invalid_argument);
static_assert(decltype(algorithm_for<goal::allreduce>(ring{}))::may_hold);
static_assert(decltype(algorithm_for<goal::allreduce>(ring{}))::symmetric);
static_assert(claims_of(algorithm_for<goal::allreduce>(circulant{}), {.size = 7}).bracket ==
              circulant_reduce_scatter{}.bracket({.size = 7}));
static_assert(check_plan(algorithm_for<goal::allreduce>(circulant{.ports = 0}), {.size = 7}).code ==
              errc::invalid_argument);
static_assert(check_plan(algorithm_for<goal::allreduce>(ring{}), {.size = 7, .blocks = 5}).code ==
              errc::invalid_argument);

// Whoever gathers the blocks, their bits are those of the reduce_scatter.
static_assert(verify(by<reduce_scatter_allgather{ring{}, circulant{}}>(7)).traits.bracket ==
              verify(by<ring{}>(7)).traits.bracket);

static_assert(label_of(circulant{}) == label("circulant") && label_of(ring{}) == label("ring"));
static_assert(label_of(circulant{.ports = 2}) == label("circulant{.ports = 2}"));
static_assert(label_of(lowest_bit_first{.aggregation_limit = 4}) == label("lowest_bit_first{.aggregation_limit = 4}"));

} // namespace

TEST_CASE("one half has packed planes, and the other half planes that are not packed") {
    for (rank_t p = 1; p <= 17; ++p)
        for (const block_t limit : {1u, 2u, 4u, 16u}) {
            const lowest_bit_first packed{.aggregation_limit = limit};
            for (const verdict& v :
                 {verify(plan_allreduce(reduce_scatter_allgather{packed, bruck_allgather{}}, {.size = p})),
                  verify(plan_allreduce(reduce_scatter_allgather{by_owner{}, packed}, {.size = p})),
                  verify(plan_allreduce(reduce_scatter_allgather{circulant{}, packed}, {.size = p}))}) {
                INFO(to_string(v) << ", p = " << p << ", at most " << limit << " blocks");
                CHECK(v);
            }
        }
}

TEST_CASE("proofs of allreduce in two halves") { SUCCEED("proved by the compiler"); }
