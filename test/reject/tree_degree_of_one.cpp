// SPDX-License-Identifier: BSL-1.0
// expect: degree: an f-nomial tree needs a degree of at least 2
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

constexpr bough::tree wrong{bough::fnomial{.degree = 1}, 9};

int main() { return static_cast<int>(wrong.size()); }
