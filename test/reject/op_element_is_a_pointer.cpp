// SPDX-License-Identifier: BSL-1.0
// expect: bough: an element must not be a pointer
#include <bough/op/explain_wire.hpp>

static_assert(bough::explain_wire<double*>());
