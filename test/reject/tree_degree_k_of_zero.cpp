// SPDX-License-Identifier: BSL-1.0
// expect: k: a degree-k tree needs a k of at least 1
#include <bough/tree/degree_k.hpp>
#include <bough/tree/tree.hpp>

constexpr bough::tree wrong{bough::degree_k{.k = 0}, 9};

int main() { return static_cast<int>(wrong.size()); }
