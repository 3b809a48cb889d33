// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Op needs a call on a const object: mark operator\(\) const
#include <bough/concepts/explain_op.hpp>

struct remembers {
    int calls = 0;
    int operator()(int a, int b) { return ++calls, a + b; }
};
static_assert(bough::explain_op<remembers, int>());
