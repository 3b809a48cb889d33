// SPDX-License-Identifier: BSL-1.0
// expect: even: an odd number has no half
#include <bough/core/contract.hpp>

constexpr int half(int even) {
    BOUGH_EXPECTS(even % 2 == 0, "even: an odd number has no half");
    return even / 2;
}
static_assert(half(3) == 1);

int main() {}
