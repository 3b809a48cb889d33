// SPDX-License-Identifier: BSL-1.0
// A plan that is proved while it is compiled, by verify(plan): -D RANKS=13 -D
// ALGORITHM=recursive_doubling. With -D IN_PARTS, too, by verify<plan>(). Without any of these the
// headers alone.
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/verify/verify.hpp>

#ifdef RANKS
constexpr auto plan = bough::plan_allreduce(bough::ALGORITHM{}, {.size = RANKS});
#ifdef IN_PARTS
static_assert(bough::proven<bough::verify<plan>()>());
#else
static_assert(bough::proven<bough::verify(plan)>());
#endif
#endif
