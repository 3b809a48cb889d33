// SPDX-License-Identifier: BSL-1.0
// expect: a Tree needs `rank_t root\(\) const`
#include <bough/concepts/explain_tree.hpp>

struct my_tree {
    bough::rank_t size() const { return 1; }
    bough::rank_t parent(bough::rank_t) const { return bough::no_rank; }
    bough::rank_t child_count(bough::rank_t) const { return 0; }
    bough::rank_t child(bough::rank_t, bough::rank_t) const { return 0; }
};
static_assert(bough::explain_tree<my_tree>());

int main() {}
