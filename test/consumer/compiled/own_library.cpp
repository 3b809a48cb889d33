// SPDX-License-Identifier: BSL-1.0
// The unit that holds the communicators over that transport.
#define BOUGH_COMPILED_HERE
#include "own.hpp"
