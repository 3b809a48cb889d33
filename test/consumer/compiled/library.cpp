// SPDX-License-Identifier: BSL-1.0
// The compiled form without CMake: one unit of the program holds what the others, compiled with -DBOUGH_COMPILED, leave out.
#define BOUGH_COMPILED_HERE
#include <bough/allreduce.hpp>
#include <bough/compiled/common.hpp>
#include <bough/compiled/in_process.hpp>
