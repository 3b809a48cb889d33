// SPDX-License-Identifier: BSL-1.0
// Broadcast_time: by hand, on all shapes, with and without receive costs.
#include "support/catch.hpp"
#include "tree/heterogeneous.hpp"
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/tree.hpp>

#include <array>
#include <span>

using namespace bough;

// Fig. 1 (a): the binomial tree of ranks.
static_assert(broadcast_time(tree{binomial{}, 8}, std::span(test::figure_1)) == 700);
static_assert(broadcast_time(tree{flat{}, 8}, std::span(test::figure_1)) == 700);
static_assert(broadcast_time(tree{chain{}, 8}, std::span(test::figure_1)) == 2 * 100 + 5 * 300, "the last never sends");
static_assert(broadcast_time(tree{flat{}, 1}, std::span(test::figure_1).first<1>()) == 0);

namespace {
constexpr std::array<double, 3> send{1, 2, 4};
constexpr std::array<double, 3> receive{8, 16, 32};
} // namespace
// 0 sends to 1 until 1, and 1 is ready at 1 + 0.5 + 16, has sent to 2 at 19.5, which is ready 32.5 later.
static_assert(broadcast_time(tree{chain{}, 3}, tree_costs<double>{send, receive, 0.5}) == 52);
// 2 first: 1 + 0.5 + 32, and 1 at 2 + 0.5 + 16.
static_assert(broadcast_time(tree{flat{}, 3}, tree_costs<double>{send, receive, 0.5}) == 33.5);
static_assert(std::is_same_v<time_of<unsigned char>, std::int64_t> && std::is_same_v<time_of<float>, double>);
static_assert(!CostNumber<bool> && CostNumber<unsigned long>);

TEST_CASE("broadcast_time: of equal costs, the depth in sends") {
    for (rank_t n = 1; n != 200; ++n) {
        const std::vector<int> ones(n, 1);
        int log = 0;
        while ((rank_t{1} << log) < n) ++log;
        INFO(n);
        CHECK(broadcast_time(tree{binomial{}, n}, std::span(ones)) == log);
        CHECK(broadcast_time(tree{flat{}, n, n / 2}, std::span(ones)) == static_cast<int>(n) - 1);
    }
}
