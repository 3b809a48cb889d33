// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Op needs operands that it only reads
#include <bough/concepts/explain_op.hpp>

static_assert(bough::explain_op<int (*)(int&, int&), int>());
