// SPDX-License-Identifier: BSL-1.0
// expect: bough: the plan is wrong: `holds<Fault, Rank, Step, Block, Peer>` says where
#include <bough/schedule/traits.hpp>

static_assert(bough::proven<bough::verdict{.fault = bough::fault::deadlock, .rank = 2, .step = 7}>());

int main() {}
