// SPDX-License-Identifier: BSL-1.0
// expect: not_in_rank_order
// lines: 15
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/verify/verify.hpp>

struct caterpillar { // even ranks are a chain, each odd rank hangs from the even one before it, and is served first
    constexpr bough::rank_t parent(bough::rank_t v, bough::rank_t) const {
        return v == 0 ? bough::no_rank : v % 2 == 1 ? v - 1 : v - 2;
    }
    constexpr bough::rank_t child_count(bough::rank_t v, bough::rank_t n) const {
        return v % 2 == 1 ? 0 : (v + 2 < n ? 1u : 0u) + (v + 1 < n ? 1u : 0u);
    }
    constexpr bough::rank_t child(bough::rank_t v, bough::rank_t, bough::rank_t i) const { return v + 1 + i; }
    constexpr bough::status check() const { return {}; }
    constexpr bool rank_ordered() const { return true; } // it is not
    friend constexpr bool operator==(const caterpillar&, const caterpillar&) = default;
};
static_assert(bough::proven<bough::verify(bough::plan_reduce(caterpillar{}, {.size = 7}))>());
