// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Op needs two operands: this one takes one
#include <bough/concepts/explain_op.hpp>

static_assert(bough::explain_op<int (*)(int), int>());
