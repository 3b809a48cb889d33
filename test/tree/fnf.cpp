// SPDX-License-Identifier: BSL-1.0
// Fnf_tree and fnf_search_tree: Fig. 1, ties, and a second derivation by the loop of the paper.
#include "support/catch.hpp"
#include "tree/heterogeneous.hpp"
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;

// Fig. 1 (c).
static_assert(broadcast_time(fnf_tree(std::span(test::figure_1)), std::span(test::figure_1)) == 400);
static_assert(broadcast_time(fnf_search_tree(std::span(test::figure_1)), std::span(test::figure_1)) == 400);
static_assert(outline(fnf_tree(std::span(test::figure_1))) == "0(6 3 1 5(7 4 2))");
static_assert(fnf_tree(std::span(test::figure_1).first<1>()).size() == 1);

namespace {

// Fig. 3 of the paper, with its quadratic loops. Ties: the earliest holder; the lowest rank.
std::vector<tree_edge> by_the_loop(const std::vector<int>& cost, rank_t root) {
    struct holder {
        rank_t rank;
        long ready;
    };
    std::vector<holder> senders{{root, 0}};
    std::vector<char> has(cost.size(), 0);
    has[root] = 1;
    std::vector<tree_edge> solution;
    for (std::size_t i = 1; i != cost.size(); ++i) {
        std::size_t sender = 0;
        for (std::size_t s = 0; s != senders.size(); ++s)
            if (senders[s].ready + cost[senders[s].rank] < senders[sender].ready + cost[senders[sender].rank])
                sender = s;
        rank_t receiver = no_rank;
        for (rank_t r = 0; r != cost.size(); ++r)
            if (has[r] == 0 && (receiver == no_rank || cost[r] < cost[receiver])) receiver = r;
        solution.push_back({senders[sender].rank, receiver});
        senders[sender].ready += cost[senders[sender].rank];
        senders.push_back({receiver, senders[sender].ready});
        has[receiver] = 1;
    }
    return solution;
}

} // namespace

TEST_CASE("fnf: the tree of the paper's loop") {
    test::cost_source random(bough_test::seed());
    for (int i = 0; i != (bough_test::all() ? 10000 : 800); ++i) {
        const rank_t n = 1 + random.below(60);
        const rank_t root = random.below(n);
        const auto costs = random.costs(n, 1, 1 + random.below(30));
        const table t = fnf_tree(std::span(costs), root);
        REQUIRE(test::is_tree(t, n, root));
        REQUIRE(t == table(n, root, by_the_loop(costs, root)));
    }
}

TEST_CASE("fnf: equal costs take as long as the binomial tree") {
    for (rank_t n = 1; n != 100; ++n) {
        const std::vector<float> same(n, 2.5f);
        CHECK(broadcast_time(fnf_tree(std::span(same)), std::span(same)) ==
              broadcast_time(tree{binomial{}, n}, std::span(same)));
    }
}

TEST_CASE("fnf: the search never loses, and keeps to its limits") {
    test::cost_source random(bough_test::seed() + 1);
    int gained = 0;
    for (int i = 0; i != 300; ++i) {
        const rank_t n = 1 + random.below(20);
        const rank_t root = random.below(n);
        const auto send = random.costs(n, 1, 12);
        const auto receive = random.costs(n, 0, 12);
        for (const tree_costs<int>& costs : {tree_costs<int>{send, {}, 0}, tree_costs<int>{send, receive, 2}}) {
            const auto plain = broadcast_time(fnf_tree(costs, root), costs);
            const table searched = fnf_search_tree(costs, root);
            REQUIRE(test::is_tree(searched, n, root));
            REQUIRE(broadcast_time(searched, costs) <= plain);
            gained += broadcast_time(searched, costs) < plain;
            REQUIRE(fnf_search_tree(costs, root, {.deliveries = 0}) == fnf_tree(costs, root));
        }
    }
    CHECK(gained > 20);
}

TEST_CASE("fnf: where the search ends, no rank that is moved in the order brings the last delivery forward") {
    test::cost_source random(bough_test::seed() + 2);
    const auto takes = [](const detail::node_times<std::int64_t>& times, rank_t root, const std::vector<rank_t>& order,
                          const tree_costs<int>& costs) {
        return broadcast_time(detail::delivered(times, root, std::span<const rank_t>(order)), costs);
    };
    for (int i = 0; i != 200; ++i) {
        const rank_t n = 2 + random.below(9), root = random.below(n);
        const auto send = random.costs(n, 1, 12), receive = random.costs(n, 0, 12);
        const tree_costs<int> costs{send, receive, 2};
        const detail::node_times<std::int64_t> times(costs);
        std::vector<rank_t> order = detail::fastest_first(times, root);
        const auto best = detail::improve_order(times, root, order, 1'000'000);
        REQUIRE(best == takes(times, root, order, costs));
        for (std::size_t from = 0; from != order.size(); ++from)
            for (std::size_t to = 0; to != order.size(); ++to) {
                std::vector<rank_t> moved = order;
                moved.erase(moved.begin() + static_cast<std::ptrdiff_t>(from));
                moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(to), order[from]);
                CAPTURE(i, n, root, from, to);
                REQUIRE(takes(times, root, moved, costs) >= best);
            }
    }
}

TEST_CASE("fnf: a hundred thousand ranks") {
    test::cost_source random(1);
    const auto costs = random.costs(100'000, 100, 800);
    const table t = fnf_tree(std::span(costs));
    REQUIRE(!t.check());
    CHECK(broadcast_time(t, std::span(costs)) < 20 * 200);
}
