// SPDX-License-Identifier: BSL-1.0
// The lower bound from the times of deliveries, and the assignments that it rests on.
#include "heterogeneous.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/tree/detail/assignment.hpp>
#include <bough/tree/detail/delivery_times.hpp>
#include <bough/tree/detail/fastest_first.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/optimal.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

using namespace bough;
using test::cost_source;

namespace {

template <class C>
auto bound_of(const tree_costs<C>& costs, rank_t root, std::uint64_t steps = 100'000'000) {
    const detail::node_times<time_of<C>> times(costs);
    const auto order = detail::fastest_first(times, root);
    detail::delivery_times<time_of<C>> deliveries(times, root, std::span<const rank_t>(order), steps);
    const auto bound = deliveries.bound();
    CHECK(std::is_sorted(deliveries.earliest().begin(), deliveries.earliest().end()));
    return bound;
}

constexpr std::int64_t bound_of_figure_1() {
    const detail::node_times<std::int64_t> times(tree_costs<int>{.send = test::figure_1});
    const auto order = detail::fastest_first(times, 0);
    return detail::delivery_times<std::int64_t>(times, 0, std::span<const rank_t>(order), 100'000).bound();
}
static_assert(bound_of_figure_1() == 400); // the optimum

static_assert(detail::sends_before<std::int64_t>(10, 0, 3, 9) == 3 &&
              detail::sends_before<std::int64_t>(9, 0, 3, 9) == 2);
static_assert(detail::sends_before<std::int64_t>(3, 0, 3, 9) == 0 &&
              detail::sends_before<std::int64_t>(4, 0, 0, 9) == 9);
static_assert(detail::sends_before<std::int64_t>(100, 0, 3, 9) == 9);

} // namespace

TEST_CASE("delivery_times: assignments are the best of all, by trying each") {
    cost_source random(bough_test::seed() + 5);
    for (int i = 0; i != 300; ++i) {
        const std::size_t places = 1 + random.below(5), ranks = places + random.below(2);
        std::vector<std::int64_t> weight(places * ranks);
        for (auto& w : weight) w = random.below(6);
        std::vector<std::size_t> order(ranks);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::int64_t best = 0;
        do {
            std::int64_t total = 0;
            for (std::size_t p = 0; p != places; ++p) total += weight[p * ranks + order[p]];
            best = std::max(best, total);
        } while (std::next_permutation(order.begin(), order.end()));
        CHECK(detail::most_assigned(weight, places, ranks) == best);
    }
}

TEST_CASE("delivery_times: never above the optimum, mostly equal to it") {
    cost_source random(bough_test::seed() + 6);
    double gap = 0;
    int equal = 0;
    const int cases = bough_test::all() ? 4000 : 400;
    for (int i = 0; i != cases; ++i) {
        const rank_t n = 2 + random.below(10), root = random.below(n);
        const auto send = random.costs(n, i % 3 == 0 ? 0 : 1, i % 2 == 0 ? 8 : 800);
        const auto receive = random.costs(n, 0, i % 5 == 0 ? 0 : 9);
        const tree_costs<int> costs{
            .send = send, .receive = i % 4 == 0 ? receive : std::span<const int>{}, .latency = i % 8 == 0 ? 3 : 0};
        const auto best = optimal_tree(costs, root).certificate;
        REQUIRE(best.proven());
        CAPTURE(n, root, i);
        const auto bound = bound_of(costs, root);
        REQUIRE(bound <= best.found);
        REQUIRE(bound_of(costs, root, 0) <= bound); // without assignments: no better
        std::vector<double> exact_send(send.begin(), send.end()), exact_receive(receive.begin(), receive.end());
        const tree_costs<double> floating{.send = exact_send,
                                          .receive = i % 4 == 0 ? std::span<const double>(exact_receive)
                                                                : std::span<const double>{},
                                          .latency = i % 8 == 0 ? 3.0 : 0.0};
        REQUIRE(bound_of(floating, root) <= static_cast<double>(best.found));
        if (best.found == 0) continue;
        gap += 1 - static_cast<double>(bound) / static_cast<double>(best.found);
        equal += bound == best.found ? 1 : 0;
    }
    INFO(gap / cases << ", " << equal << " of " << cases);
    CHECK(gap / cases < 0.03);
    CHECK(equal * 2 > cases);
}

TEST_CASE("optimal: 32 distinct ranks are proved in the default effort, 64 are within 5 per cent in a tenth of it") {
    for (const std::uint64_t seed : {1u, 2u}) {
        cost_source random(seed);
        const auto some = random.costs(32, 1000, 4000), many = random.costs(64, 1000, 4000);
        const auto best = optimal_tree(std::span(some));
        CHECK(best.certificate.proven());
        CHECK(broadcast_time(best.tree, std::span(some)) == best.certificate.found);
        CHECK(optimal_tree(std::span(many), 0, {.steps = 100'000'000}).certificate.gap() < 0.05);
    }
}
