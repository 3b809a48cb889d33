// SPDX-License-Identifier: BSL-1.0
// expect: root: the root of a tree must be one of its ranks, so below size
#include <bough/tree/fnf.hpp>

constexpr int send[] = {3, 1, 2};
constexpr bool built = bough::fnf_tree(std::span(send), 3).size() == 3;

int main() {}
