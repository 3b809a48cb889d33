// SPDX-License-Identifier: BSL-1.0
// expect: deleted function
#include <bough/op/any_op.hpp>

struct scaled {
    int factor;
    int operator()(int a, int b) const { return factor * (a + b); }
};
bough::any_op op = bough::make_any_op<int>(scaled{2}); // would point at nothing
