// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/reduce_scatter/circulant.hpp>
#include <bough/algorithm/reduce_scatter/lowest_bit_first.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/reduce_scatter/ring.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/core/freeze.hpp>

#include <array>

using namespace bough;
// Clang 14 has not the patience for more; blocks_sweep.cpp does the rest.
using test::proven_everywhere;
using test::proven_for;

namespace {

template <auto Algorithm>
constexpr auto by = [](rank_t size) { return plan_reduce_scatter(Algorithm, {.size = size}); };

static_assert(proven_for<by<ring_reduce_scatter{}>, 1, 2, 3, 5, 7>());
static_assert(proven_for<by<pairwise_reduce_scatter{}>, 1, 2, 3, 5, 7>());
static_assert(proven_everywhere<by<circulant_reduce_scatter{}>>());
static_assert(proven_for<by<circulant_reduce_scatter{.ports = 2}>, 1, 2, 3, 7>());
static_assert(proven_for<by<lowest_bit_first_reduce_scatter{}>, 1, 2, 3, 5, 7>());
static_assert(proven_for<by<lowest_bit_first_reduce_scatter{.aggregation_limit = 2}>, 1, 2, 3, 7>());
static_assert(proven_for<by<reverse(neighbour_exchange{}, 1)>, 1, 2, 6, 8>());

// The pictures of the headers.
constexpr slice part(bough::buffer b, block_t first, block_t count = 1) { return {b, first, count}; }
constexpr buffer partial = scratch(0);
constexpr buffer landed = scratch(1);
template <auto Algorithm, rank_t Rank>
constexpr auto steps_of_7 = freeze<[] { return by<Algorithm>(7).schedule_of(Rank).steps; }>();

static_assert(steps_of_7<circulant_reduce_scatter{}, 0> ==
              std::array{send_step(4, part(input, 4, 3)), receive_step(3, part(landed, 0, 3)),
                         combine_step(part(input, 0, 3), part(landed, 0, 3), part(partial, 0, 3)),
                         // block 3 is not combined: a copy makes one piece of what is sent
                         copy_step(part(input, 3), part(partial, 3)), send_step(2, part(partial, 2, 2)),
                         receive_step(5, part(landed, 0, 2)),
                         combine_step(part(partial, 0, 2), part(landed, 0, 2), part(partial, 0, 2)),
                         send_step(1, part(partial, 1)), receive_step(6, part(landed, 0)),
                         combine_step(part(partial, 0), part(landed, 0), part(output, 0))});
static_assert(steps_of_7<lowest_bit_first_reduce_scatter{}, 0> ==
              std::array{
                  send_step(6, part(input, 6), true), send_step(6, part(input, 4), true), send_step(6, part(input, 2)),
                  receive_step(1, part(landed, 0), true), receive_step(1, part(landed, 5), true),
                  receive_step(1, part(landed, 3)), combine_step(part(input, 0), part(landed, 0), part(output, 0)),
                  combine_step(part(input, 5), part(landed, 5), part(partial, 5)),
                  combine_step(part(input, 3), part(landed, 3), part(partial, 3)), send_step(5, part(partial, 5), true),
                  send_step(5, part(input, 1)), receive_step(2, part(landed, 0), true),
                  receive_step(2, part(landed, 3)), combine_step(part(output, 0), part(landed, 0), part(output, 0)),
                  combine_step(part(partial, 3), part(landed, 3), part(partial, 3)), send_step(3, part(partial, 3)),
                  receive_step(4, part(landed, 0)), combine_step(part(output, 0), part(landed, 0), part(output, 0))});
// (0 + (1 + 2)) + (3 + (4 + (5 + 6)))
static_assert(steps_of_7<pairwise_reduce_scatter{}, 2> ==
              std::array{send_step(3, part(input, 3)), receive_step(1, part(scratch(1), 2)),
                         combine_step(part(scratch(1), 2), part(input, 2), part(output, 2)),
                         send_step(4, part(input, 4)), receive_step(0, part(scratch(0), 2)),
                         combine_step(part(scratch(0), 2), part(output, 2), part(output, 2)),
                         send_step(5, part(input, 5)), receive_step(6, part(scratch(1), 2)),
                         send_step(6, part(input, 6)), receive_step(5, part(scratch(0), 2)),
                         combine_step(part(scratch(0), 2), part(scratch(1), 2), part(scratch(2), 2)),
                         send_step(0, part(input, 0)), receive_step(4, part(scratch(1), 2)),
                         combine_step(part(scratch(1), 2), part(scratch(2), 2), part(scratch(2), 2)),
                         send_step(1, part(input, 1)), receive_step(3, part(scratch(0), 2)),
                         combine_step(part(scratch(0), 2), part(scratch(2), 2), part(scratch(2), 2)),
                         combine_step(part(output, 2), part(scratch(2), 2), part(output, 2))});

// Pairwise exchange keeps rank order, the others cannot; `verify` agrees.
static_assert(!verify(by<pairwise_reduce_scatter{}>(7)).traits.needs_commutative);
static_assert(verify(by<circulant_reduce_scatter{}>(7)).traits.needs_commutative);
static_assert(keeps_rank_order(pairwise_reduce_scatter{}, {.size = 7}) &&
              !keeps_rank_order(ring_reduce_scatter{}, {.size = 7}));
static_assert(keeps_rank_order(circulant_reduce_scatter{}, {.size = 2}));

static_assert(check_plan(circulant_reduce_scatter{.ports = 0}, {.size = 7}).code == errc::invalid_argument);
static_assert(check_plan(pairwise_reduce_scatter{}, {.size = 7, .blocks = 1}).code == errc::invalid_argument);
static_assert(check_plan(reverse(neighbour_exchange{}), {.size = 7}).code == errc::invalid_argument);

// What reverse makes of an allgather, and of a broadcast.
static_assert(serves_v<decltype(reverse(neighbour_exchange{})), goal::reduce_scatter>);
static_assert(!serves_v<decltype(reverse(neighbour_exchange{})), goal::reduce>);
static_assert(label_of(reverse(neighbour_exchange{}, 1)) == label("reverse(neighbour_exchange, 1)"));

} // namespace

TEST_CASE("proofs of reduce_scatter") { SUCCEED("proved by the compiler"); }
