// SPDX-License-Identifier: BSL-1.0
// expect: arity: a k-ary tree needs an arity of at least 1
#include <bough/tree/kary.hpp>
#include <bough/tree/tree.hpp>

constexpr bough::tree wrong{bough::kary{.arity = 0}, 9};

int main() { return static_cast<int>(wrong.size()); }
