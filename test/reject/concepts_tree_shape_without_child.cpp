// SPDX-License-Identifier: BSL-1.0
// expect: a TreeShape needs `rank_t child\(rank_t v, rank_t n, rank_t i\) const`
#include <bough/concepts/explain_tree.hpp>

struct my_shape {
    bough::rank_t parent(bough::rank_t, bough::rank_t) const { return bough::no_rank; }
    bough::rank_t child_count(bough::rank_t, bough::rank_t) const { return 0; }
    bough::status check() const { return {}; }
};
static_assert(bough::explain_tree_shape<my_shape>());

int main() {}
