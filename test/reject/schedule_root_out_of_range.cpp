// SPDX-License-Identifier: BSL-1.0
// expect: root: not a rank of the group
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/tree/binomial.hpp>

constexpr auto wrong = bough::plan_broadcast(bough::binomial{}, {.size = 5, .root = 5});

int main() { return static_cast<int>(wrong.size()); }
