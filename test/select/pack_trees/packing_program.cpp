// SPDX-License-Identifier: BSL-1.0
// The linear program of a packing: its columns obey the links, and its prices prove that no more can be had.
#include "support/catch.hpp"
#include <bough/core/random.hpp>
#include <bough/select/pack_trees/packing_program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;

namespace {

using program = detail::packing_program<>;
using loads = std::vector<double>; // of the links

double cost_of(const loads& column, const std::vector<double>& prices) {
    double cost = 0;
    for (std::size_t l = 0; l != column.size(); ++l) cost += column[l] * prices[l];
    return cost;
}

} // namespace

TEST_CASE("packing_program: a column takes all of the only link, and the link has its price") {
    program one({10});
    CHECK(one.prices() == std::vector<double>{0});
    REQUIRE(one.enter(7, {2}));
    for (int i = 0; i != 3; ++i) { // however often it is asked
        CHECK(one.prices() == std::vector<double>{0.5});
        int columns = 0;
        one.for_each([&](std::size_t number, double x) {
            ++columns;
            CHECK(number == 7);
            CHECK(x == Approx(5));
        });
        CHECK(columns == 1);
    }
    CHECK_FALSE(one.enter(8, {0})); // no link limits it
}

TEST_CASE("packing_program: with the cheapest column again and again it comes to the largest sum") {
    detail::split_mix random(5);
    for (int trial = 0; trial != 300; ++trial) {
        CAPTURE(trial);
        const std::size_t links = 1 + random.below(6);
        std::vector<double> speeds;
        for (std::size_t l = 0; l != links; ++l) speeds.push_back(static_cast<double>(1 + random.below(9)));
        std::vector<loads> columns; // all with up to two loads of 1 or 2
        for (std::size_t a = 0; a != links; ++a)
            for (std::size_t b = a; b != links; ++b) {
                if (random.below(3) == 0) continue;
                loads made(links, 0.0);
                made[a] += 1, made[b] += 1;
                columns.push_back(made);
            }
        program best(speeds);
        std::vector<double> prices = best.prices();
        for (int turn = 0; !columns.empty(); ++turn) {
            REQUIRE(turn != 1'000);
            const auto cheapest = std::min_element(columns.begin(), columns.end(), [&](const loads& x, const loads& y) {
                return cost_of(x, prices) < cost_of(y, prices);
            });
            if (cost_of(*cheapest, prices) > 1 - 1e-9) break;
            REQUIRE(best.enter(static_cast<std::size_t>(cheapest - columns.begin()), *cheapest));
            prices = best.prices();
        }
        double sum = 0;
        loads used(links, 0.0);
        best.for_each([&](std::size_t number, double x) {
            REQUIRE(number < columns.size());
            sum += x;
            for (std::size_t l = 0; l != links; ++l) used[l] += x * columns[number][l];
        });
        for (std::size_t l = 0; l != links; ++l) CHECK(used[l] <= speeds[l] + 1e-6);
        CHECK(*std::min_element(prices.begin(), prices.end()) >= 0);
        CHECK(cost_of(speeds, prices) == Approx(sum).margin(1e-6)); // what any columns can carry at most
    }
}
