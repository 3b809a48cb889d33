// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Op needs a result that converts to the element type
#include <bough/concepts/explain_op.hpp>

static_assert(bough::explain_op<void (*)(int, int), int>());
