// SPDX-License-Identifier: BSL-1.0
// Every header in each of two translation units: what is not inline is defined twice, and the linker says so.
#include "every_header.hpp"

unsigned other_unit();

int main() { return other_unit() == BOUGH_VERSION_MINOR ? 0 : 1; }
