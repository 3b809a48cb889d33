// SPDX-License-Identifier: BSL-1.0
// The second of the two translation units: see one_unit.cpp.
#include "every_header.hpp"

unsigned other_unit();
unsigned other_unit() { return bough::version{}.minor; }
