// SPDX-License-Identifier: BSL-1.0
// expect: size: a group needs at least one rank
#include <bough/algorithm/allreduce/recursive_doubling.hpp>

constexpr auto wrong = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 0});

int main() { return static_cast<int>(wrong.size()); }
