// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/rank_order.hpp>
#include <bough/tree/tree.hpp>

using namespace bough;

namespace {

struct circle { // no tree: rank 0 has a child that has all for children
    constexpr rank_t size() const { return 5; }
    constexpr rank_t root() const { return 0; }
    constexpr rank_t parent(rank_t r) const { return r == 0 ? no_rank : 0; }
    constexpr rank_t child_count(rank_t) const { return 4; }
    constexpr rank_t child(rank_t, rank_t i) const { return i + 1; }
};
struct beyond { // a child that is no rank
    constexpr rank_t size() const { return 2; }
    constexpr rank_t root() const { return 0; }
    constexpr rank_t parent(rank_t r) const { return r == 0 ? no_rank : 0; }
    constexpr rank_t child_count(rank_t r) const { return r == 0 ? 1 : 0; }
    constexpr rank_t child(rank_t, rank_t) const { return 7; }
};

} // namespace

static_assert(first_out_of_order(tree{chain{}, 5}, false) == no_rank);
static_assert(first_out_of_order(tree{kary{.arity = 2}, 7}, false) != no_rank);
static_assert(first_out_of_order(circle{}, true) != no_rank && first_out_of_order(beyond{}, true) != no_rank);

TEST_CASE("rank order: what claims it keeps it at every size, and a wrapped root loses it", "[tree]") {
    for (rank_t n = 1; n <= 200; ++n) {
        CAPTURE(n);
        CHECK(first_out_of_order(tree{binomial{}, n}, false) == no_rank);
        CHECK(first_out_of_order(tree{fnomial{.degree = 3}, n}, false) == no_rank);
        CHECK(first_out_of_order(in_order{binomial{}, n, n / 2}, true) == no_rank);
        if (n > 2) CHECK(first_out_of_order(tree{binomial{}, n, n - 1}, true) != no_rank);
    }
}
