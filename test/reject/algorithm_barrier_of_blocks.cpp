// SPDX-License-Identifier: BSL-1.0
// expect: the algorithm refuses these dimensions
#include <bough/algorithm/barrier/dissemination.hpp>

constexpr auto wrong = bough::plan_barrier(bough::dissemination{}, {.size = 9, .blocks = 2});

int main() { return static_cast<int>(wrong.size()); }
