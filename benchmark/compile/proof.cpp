// SPDX-License-Identifier: BSL-1.0
// A plan that is proved while it is compiled: -D RANKS=13 -D ALGORITHM=recursive_doubling; without
// them the headers alone.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/verify/verify.hpp>

#ifdef RANKS
constexpr auto plan = bough::plan_allreduce(bough::ALGORITHM{}, {.size = RANKS});
static_assert(bough::proven<bough::verify(plan)>());
#endif
