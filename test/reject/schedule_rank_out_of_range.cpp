// SPDX-License-Identifier: BSL-1.0
// expect: rank: not a rank of the plan
#include <bough/algorithm/allreduce/recursive_doubling.hpp>

constexpr auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 5});
constexpr auto wrong = plan.schedule_of(5).size();

int main() { return static_cast<int>(wrong); }
