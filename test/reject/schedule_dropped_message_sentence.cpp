// SPDX-License-Identifier: BSL-1.0
// expect: bough: the plan is wrong: V names the fault, the rank, the step and the block
#include <bough/schedule/traits.hpp>

static_assert(bough::proven<bough::verdict{.fault = bough::fault::deadlock, .rank = 2, .step = 7}>());

int main() {}
