// SPDX-License-Identifier: BSL-1.0
// expect: the algorithm refuses these dimensions
#include <bough/algorithm/gather/tree.hpp>
#include <bough/tree/binomial.hpp>

// A gather has one block for every rank.
constexpr auto plan = bough::plan_gather(bough::binomial{}, {.size = 4, .blocks = 1});
