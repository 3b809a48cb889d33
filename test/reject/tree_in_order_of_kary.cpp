// SPDX-License-Identifier: BSL-1.0
// expect: shape: in_order needs a shape that is rank_ordered\(\)
#include <bough/tree/in_order.hpp>
#include <bough/tree/kary.hpp>

constexpr bough::in_order wrong{bough::kary{.arity = 2}, 9, 3};

int main() { return static_cast<int>(wrong.size()); }
