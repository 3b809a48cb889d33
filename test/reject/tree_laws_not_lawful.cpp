// SPDX-License-Identifier: BSL-1.0
// expect: holds<.*child_knows_parent, 2|Law = bough::.*testing::tree_law::child_knows_parent; .*Rank = 2
// lines: 15
#include <bough/testing/tree_laws.hpp>

struct crooked { // a chain whose third rank believes that it hangs from the root
    constexpr bough::rank_t parent(bough::rank_t v, bough::rank_t) const {
        return v == 0 ? bough::no_rank : v == 2 ? 0 : v - 1;
    }
    constexpr bough::rank_t child_count(bough::rank_t v, bough::rank_t n) const { return v + 1 < n ? 1 : 0; }
    constexpr bough::rank_t child(bough::rank_t v, bough::rank_t, bough::rank_t) const { return v + 1; }
    constexpr bough::status check() const { return {}; }
    friend constexpr bool operator==(const crooked&, const crooked&) = default;
};
static_assert(bough::testing::lawful<bough::testing::check_shape(crooked{}, 5)>());
