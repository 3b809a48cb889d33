// SPDX-License-Identifier: BSL-1.0
// expect: a Plan needs `goal\(\) const`
#include <bough/concepts/explain_plan.hpp>

struct my_plan {
    bough::rank_t size() const { return 1; }
    bough::rank_t root() const { return 0; }
    bough::block_t blocks() const { return 1; }
    bough::block_t scratch(bough::rank_t) const { return 0; }
    void emit(bough::rank_t, bough::StepSink auto&&) const {}
};
static_assert(bough::explain_plan<my_plan>());

int main() {}
