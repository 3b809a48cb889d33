// SPDX-License-Identifier: BSL-1.0
// expect: an Algorithm needs `void emit\(const dimensions& at, rank_t rank, StepSink auto& out\) const`
#include <bough/concepts/explain_plan.hpp>

struct my_algorithm {
    bough::block_t natural_blocks(bough::rank_t) const { return 1; }
    bough::block_t scratch(const bough::dimensions&, bough::rank_t) const { return 0; }
    bough::status check(const bough::dimensions&) const { return {}; }
};
static_assert(bough::explain_algorithm<my_algorithm>());

int main() {}
