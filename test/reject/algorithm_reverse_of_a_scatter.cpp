// SPDX-License-Identifier: BSL-1.0
// expect: bough: reverse takes a broadcast or an allgather; for gather and scatter see mirror
#include <bough/algorithm/reverse.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/tree/binomial.hpp>

constexpr auto wrong = bough::reverse(bough::tree_scatter{bough::binomial{}});

int main() { return static_cast<int>(wrong.landing); }
