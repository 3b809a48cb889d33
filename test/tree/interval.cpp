// SPDX-License-Identifier: BSL-1.0
#include "heterogeneous.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/interval.hpp>
#include <bough/tree/optimal.hpp>
#include <bough/tree/outline.hpp>
#include <bough/verify/verify.hpp>

using namespace bough;
using test::cost_source;

namespace {

static_assert(outline(interval_tree(std::span(test::figure_1), 0)) == "0(1 2 3 5(6 7 4))");
static_assert(broadcast_time(interval_tree(std::span(test::figure_1), 0), std::span(test::figure_1)) == 400);
static_assert(is_interval_tree(interval_tree(std::span(test::figure_1), 3)));
static_assert(!is_interval_tree(fnf_tree(std::span(test::figure_1), 0)));
static_assert(is_interval_tree(in_order(binomial{}, 13, 5)) && !is_interval_tree(tree(binomial{}, 13, 4)));

// Calls f with every ordered tree of n ranks with this root.
template <class F>
void for_each_tree(rank_t n, rank_t root, std::vector<tree_edge>& edges, std::vector<char>& has, const F& f) {
    if (edges.size() + 1 == n) return f(table(n, root, edges));
    for (rank_t from = 0; from != n; ++from)
        for (rank_t to = 0; to != n; ++to) {
            if (has[from] == 0 || has[to] != 0) continue;
            has[to] = 1;
            edges.push_back({from, to});
            for_each_tree(n, root, edges, has, f);
            edges.pop_back();
            has[to] = 0;
        }
}
template <class F>
void for_each_tree(rank_t n, rank_t root, const F& f) {
    std::vector<tree_edge> edges;
    std::vector<char> has(n, 0);
    has[root] = 1;
    for_each_tree(n, root, edges, has, f);
}

} // namespace

TEST_CASE("is_interval_tree says what the proof says: a reduction over the tree needs no commutative op") {
    for (rank_t n = 1; n <= 5; ++n)
        for (rank_t root = 0; root != n; ++root)
            for_each_tree(n, root, [&](const table& t) {
                const verdict found = verify(plan_reduce(t, {.size = n, .root = root}));
                REQUIRE(found);
                if (is_interval_tree(t) == found.traits.needs_commutative) {
                    CAPTURE(outline(t).str());
                    CHECK(is_interval_tree(t) != found.traits.needs_commutative);
                }
            });
}

TEST_CASE("interval_tree is the best of all ordered trees that keep rank order, up to six ranks") {
    cost_source random(71);
    for (int i = 0; i != (bough_test::all() ? 60 : 12); ++i) {
        const rank_t n = 2 + random.below(5);
        const rank_t root = random.below(n);
        const auto send = random.costs(n, 1, 9), receive = random.costs(n, 0, 6);
        const tree_costs<int> costs{
            .send = send, .receive = i % 3 == 0 ? std::span<const int>{} : receive, .latency = i % 2};
        const table made = interval_tree(costs, root);
        CAPTURE(n, root, i, outline(made).str());
        CHECK(test::is_tree(made, n, root));
        CHECK(is_interval_tree(made));
        std::int64_t best = -1;
        for_each_tree(n, root, [&](const table& t) {
            if (!is_interval_tree(t)) return;
            const auto time = broadcast_time(t, costs);
            if (best < 0 || time < best) best = time;
        });
        CHECK(broadcast_time(made, costs) == best);
    }
}

TEST_CASE(
    "interval_tree lies between the optimum and the in-order binomial tree; without a root it is the best root's") {
    cost_source random(72);
    for (int i = 0; i != (bough_test::all() ? 200 : 30); ++i) {
        const rank_t n = 1 + random.below(20);
        const auto send = random.costs(n, 1, 30);
        const std::span costs(send);
        std::int64_t best = -1;
        for (rank_t root = 0; root != n; ++root) {
            const table made = interval_tree(costs, root);
            const auto time = broadcast_time(made, costs);
            REQUIRE(test::is_tree(made, n, root));
            CHECK(is_interval_tree(made));
            CHECK(time <= broadcast_time(in_order(binomial{}, n, root), costs));
            if (n <= 12) CHECK(time >= optimal_tree(costs, root).certificate.found);
            if (best < 0 || time < best) best = time;
        }
        CHECK(broadcast_time(interval_tree(costs), costs) == best);
    }
}

TEST_CASE("equal costs: rank order costs nothing") {
    for (rank_t n = 1; n <= 64; n += n < 9 ? 1 : 11) {
        const std::vector<int> send(n, 7);
        CHECK(broadcast_time(interval_tree(std::span(send)), std::span(send)) ==
              broadcast_time(fnf_tree(std::span(send)), std::span(send)));
    }
}
