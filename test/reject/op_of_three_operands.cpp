// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Op needs two operands and returns its result: this one takes three
#include <bough/concepts/explain_op.hpp>

static_assert(bough::explain_op<void (*)(const int&, const int&, int&), int>());
