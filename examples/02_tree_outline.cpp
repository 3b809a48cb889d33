// SPDX-License-Identifier: BSL-1.0
// Trees as values: a shape is a rule for any number of ranks; bound to a size and a root it is a tree that a test can read.
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <iostream>

// A rank, and in parentheses its children, in the order in which a reduction receives from them.
static_assert(outline(bough::tree{bough::fnomial{.degree = 3}, 9}) == "0(1 2 3(4 5) 6(7 8))");

// Gupta's degree-k tree, in which a rank receives from at most k peers per step, is the (k+1)-nomial tree.
static_assert(outline(bough::tree{bough::degree_k{.k = 2}, 9}) == outline(bough::tree{bough::fnomial{.degree = 3}, 9}));

int main() {
    std::cout << "13 ranks, root 0\n";
    std::cout << "  binomial   " << outline(bough::tree{bough::binomial{}, 13}) << '\n';
    std::cout << "  4-nomial   " << outline(bough::tree{bough::fnomial{.degree = 4}, 13}) << '\n';
    std::cout << "  3-ary      " << outline(bough::tree{bough::kary{.arity = 3}, 13}) << '\n';
    std::cout << "  flat       " << outline(bough::tree{bough::flat{}, 13}) << '\n';
    std::cout << "  chain      " << outline(bough::tree{bough::chain{}, 13}) << '\n';

    std::cout << "13 ranks, root 5, binomial\n";
    std::cout << "  relabelled " << outline(bough::tree{bough::binomial{}, 13, 5}) << '\n';
    std::cout << "  in order   " << outline(bough::in_order{bough::binomial{}, 13, 5}) << '\n';
}
