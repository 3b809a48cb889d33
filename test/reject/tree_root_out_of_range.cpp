// SPDX-License-Identifier: BSL-1.0
// expect: root: the root of a tree must be one of its ranks
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

constexpr bough::tree wrong{bough::fnomial{}, 9, 9};

int main() { return static_cast<int>(wrong.size()); }
