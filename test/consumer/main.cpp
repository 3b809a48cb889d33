// SPDX-License-Identifier: BSL-1.0
// What a user's program does first: combine one value per rank along a tree. Prints the sum of 0 to 12.
#include <bough/op/arithmetic.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

#include <cstdio>

namespace {
template <bough::Tree Tree>
constexpr int sum_below(const Tree& tree, bough::rank_t rank) {
    int sum = static_cast<int>(rank);
    for (bough::rank_t i = tree.child_count(rank); i-- > 0;)
        sum = bough::plus{}(sum, sum_below(tree, tree.child(rank, i)));
    return sum;
}
} // namespace

int main() {
    constexpr bough::tree tree{bough::fnomial{.degree = 3}, 13};
    static_assert(sum_below(tree, 0) == 78);
    std::printf("%d\n", sum_below(tree, 0));
}
