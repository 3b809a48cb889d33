// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"

#include "support/catch.hpp"
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/best_levels.hpp>
#include <bough/algorithm/per_level.hpp>

using namespace bough;
using test::proven_everywhere;
using test::proven_for;

namespace {

constexpr auto halving_of = [](rank_t size) { return plan_allreduce(per_level{}, {.size = size}); };
constexpr auto exchange_of = [](rank_t size) {
    return plan_allreduce(per_level{.form = level_form::exchange}, {.size = size});
};
constexpr auto reduce_of = [](rank_t size) { return plan_reduce(per_level{}, {.size = size, .root = size - 1}); };
constexpr auto census_of = [](rank_t size) { return plan_allreduce(census{}, {.size = size}); };
constexpr auto best_of = [](rank_t size) {
    return plan_allreduce(per_level{.levels = best_levels(size, {.alpha = 5000, .beta = 1, .gamma = 0.25}, 8192)},
                          {.size = size});
};

static_assert(proven_everywhere<halving_of>());
static_assert(proven_everywhere<exchange_of>());
static_assert(proven_everywhere<reduce_of>());
static_assert(proven_everywhere<census_of>());
static_assert(proven_for<best_of, 3, 7, 13>());

// The levels themselves.
static_assert(steady_levels(1).empty() && steady_levels(2) == level_list{{}} && steady_levels(3) == level_list{{3}});
static_assert(steady_levels(5) == level_list{{2, 1}, {2}} && steady_levels(7) == level_list{{2, 1}, {3}});
static_assert(steady_levels(12) == level_list{{}, {}, {3}} && steady_levels(15) == level_list{{2, 3}, {}, {3}});
static_assert(fold_levels(7) == level_list{{1, 3}, {}, {}} && fold_levels(8) == level_list{{}, {}, {}});
static_assert(level_list{{2, 1}, {3}}.complete_for(7) && !level_list{{2, 1}, {3}}.complete_for(8));
static_assert(!level_list{{2}}.complete_for(3) && !level_list{{2, 2}}.complete_for(5)); // an odd one; too many triples
static_assert(!level_list{{0}}.complete_for(1) && !level_list{{1}}.complete_for(1));    // no tuples; nobody leaves
static_assert(!level_list{{3, 1}}.complete_for(4));                                     // only twos and ones fold
static_assert(level_list{{3}, {2, 1}, {2}}.parts() == 12);
static_assert(level_list{{3}, {2, 1, level_form::exchange}, {2}}.parts() == 6);

} // namespace

TEST_CASE("proofs of levels and of the census") { SUCCEED("proved by the compiler"); }
