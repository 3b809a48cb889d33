// SPDX-License-Identifier: BSL-1.0
// expect: costs: a send cost must not be negative
#include <bough/tree/optimal.hpp>

constexpr int send[] = {3, -1, 2};
constexpr bool built = bough::optimal_tree(std::span(send)).certificate.proven();

int main() {}
