// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Op needs a call with two elements of this type
#include <bough/concepts/explain_op.hpp>
#include <bough/op/bitwise.hpp>

static_assert(bough::explain_op<bough::bit_and, double>());
