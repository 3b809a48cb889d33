// SPDX-License-Identifier: BSL-1.0
// expect: the algorithm refuses these dimensions
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/tree/kary.hpp>

constexpr auto wrong = bough::plan_reduce(bough::ordered{bough::kary{.arity = 2}}, {.size = 9, .root = 3});

int main() { return static_cast<int>(wrong.size()); }
