// SPDX-License-Identifier: BSL-1.0
// expect: offset: too far
#include <bough/schedule/stencil.hpp>

constexpr bough::grid_offset wrong{1, 1 << 30};

int main() { return wrong.by[0]; }
