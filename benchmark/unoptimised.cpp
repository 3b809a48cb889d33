// SPDX-License-Identifier: BSL-1.0
// Part of each benchmark that is compiled without optimisation: it says first that its figures are worth nothing.
#include <cstdio>

namespace {

[[maybe_unused]] const int said = std::fputs(
    "compiled for tests, not optimised: times measured below say nothing; cmake --preset release has others\n", stderr);

} // namespace
