// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/stable_sort.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace {

using item = std::pair<int, int>; // key, place before
constexpr auto by_key = [](const item& a, const item& b) { return a.first < b.first; };

constexpr auto sorted = [] {
    std::array<item, 6> x{{{2, 0}, {1, 1}, {2, 2}, {1, 3}, {0, 4}, {2, 5}}};
    bough::detail::stable_sort(x.begin(), x.end(), by_key);
    return x;
}();
static_assert(sorted == std::array<item, 6>{{{0, 4}, {1, 1}, {1, 3}, {2, 0}, {2, 2}, {2, 5}}});

} // namespace

TEST_CASE("stable_sort: as the standard library's, for any length and number of keys", "[core]") {
    std::mt19937 random(1);
    for (int n = 0; n != 70; ++n)
        for (const int keys : {1, 2, 5, 1000}) {
            std::vector<item> x;
            for (int i = 0; i != n; ++i) x.emplace_back(static_cast<int>(random() % static_cast<unsigned>(keys)), i);
            auto expected = x; // places differ: sorting by both is the stable order
            std::sort(expected.begin(), expected.end());
            bough::detail::stable_sort(x.begin(), x.end(), by_key);
            CHECK(x == expected);
        }
}
