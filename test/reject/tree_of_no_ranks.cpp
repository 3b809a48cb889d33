// SPDX-License-Identifier: BSL-1.0
// expect: size: a tree needs between 1 and 2\^32 - 2 ranks
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

constexpr bough::tree wrong{bough::fnomial{}, 0};

int main() { return static_cast<int>(wrong.size()); }
