// SPDX-License-Identifier: BSL-1.0
// expect: the algorithm refuses these dimensions|degree: an f-nomial tree needs a degree of at least 2
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/tree/fnomial.hpp>

constexpr auto wrong = bough::plan_reduce(bough::fnomial{.degree = 1}, {.size = 9});

int main() { return static_cast<int>(wrong.size()); }
