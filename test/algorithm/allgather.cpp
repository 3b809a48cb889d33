// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/circulant.hpp>
#include <bough/algorithm/allgather/lowest_bit_first.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/allgather/ring.hpp>
#include <bough/core/freeze.hpp>

#include <array>

using namespace bough;
using test::proven_everywhere;
using test::proven_for;

namespace {

template <auto Algorithm>
constexpr auto by = [](rank_t size) { return plan_allgather(Algorithm, {.size = size}); };

static_assert(proven_everywhere<by<ring_allgather{}>>());
static_assert(proven_everywhere<by<circulant_allgather{}>>());
static_assert(proven_for<by<circulant_allgather{.ports = 2}>, 1, 2, 3, 7, 13>());
static_assert(proven_for<by<bruck_allgather{}>, 1, 2, 3, 7, 13>());
static_assert(proven_everywhere<by<lowest_bit_first_allgather{}>>());
static_assert(proven_for<by<lowest_bit_first_allgather{.aggregation_limit = 2}>, 1, 2, 3, 7, 13>());
static_assert(proven_for<by<neighbour_exchange{}>, 1, 2, 4, 6, 8>());

// The pictures of the headers.
template <auto Algorithm>
constexpr auto rank_0_of_7 = freeze<[] { return by<Algorithm>(7).schedule_of(0).steps; }>();
constexpr step own = copy_step({input, 0, 1}, {output, 0, 1});
static_assert(rank_0_of_7<circulant_allgather{}> ==
              std::array{own, send_step(6, {output, 0, 1}), receive_step(1, {output, 1, 1}),
                         send_step(5, {output, 0, 2}), receive_step(2, {output, 2, 2}), send_step(3, {output, 0, 3}),
                         receive_step(4, {output, 4, 3})});
static_assert(rank_0_of_7<bruck_allgather{}> == rank_0_of_7<circulant_allgather{}>);
static_assert(rank_0_of_7<lowest_bit_first_allgather{}> ==
              std::array{own, send_step(4, {output, 0, 1}), receive_step(3, {output, 3, 1}), //
                         send_step(2, {output, 0, 1}, true), send_step(2, {output, 3, 1}),
                         receive_step(5, {output, 5, 1}, true), receive_step(5, {output, 1, 1}),
                         send_step(1, {output, 0, 1}, true), send_step(1, {output, 5, 1}, true),
                         send_step(1, {output, 3, 1}), receive_step(6, {output, 6, 1}, true),
                         receive_step(6, {output, 4, 1}, true), receive_step(6, {output, 2, 1})});
// Rank 6 has blocks 6 and 0: two parts.
static_assert(freeze<[] {
                  schedule all = by<circulant_allgather{}>(7).schedule_of(6);
                  return std::vector<step>(all.steps.begin() + 3, all.steps.begin() + 5);
              }>() == std::array{send_step(4, {output, 6, 1}, true), send_step(4, {output, 0, 1})});
static_assert(freeze<[] { return by<neighbour_exchange{}>(6).schedule_of(0).steps; }>() ==
              std::array{own, send_step(1, {output, 0, 1}), receive_step(1, {output, 1, 1}),
                         send_step(5, {output, 0, 2}), receive_step(5, {output, 4, 2}), send_step(1, {output, 4, 2}),
                         receive_step(1, {output, 2, 2})});

// Where Bruck's rounds differ from those of the halved circle.
static_assert(by<bruck_allgather{}>(13).schedule_of(0) != by<circulant_allgather{}>(13).schedule_of(0));

static_assert(check_plan(neighbour_exchange{}, {.size = 7}).code == errc::invalid_argument);
static_assert(check_plan(neighbour_exchange{}, {.size = 1}) == status{});
static_assert(check_plan(circulant_allgather{.ports = 0}, {.size = 7}).code == errc::invalid_argument);
static_assert(check_plan(bruck_allgather{.ports = 0}, {.size = 7}).code == errc::invalid_argument);
static_assert(check_plan(ring_allgather{}, {.size = 7, .blocks = 8}).code == errc::invalid_argument);
static_assert(check_plan(lowest_bit_first_allgather{}, {.size = 7, .blocks = 7}) == status{});

// None passes for another collective.
static_assert(!serves_v<ring_allgather, goal::allreduce> && !serves_v<bruck_allgather, goal::gather>);

} // namespace

TEST_CASE("proofs of allgather") { SUCCEED("proved by the compiler"); }
