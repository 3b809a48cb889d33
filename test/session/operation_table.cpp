// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/operation_table.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <random>

using bough::detail::operation_table;

TEST_CASE("operation table: like a map, whatever is put in and taken out", "[session]") {
    std::mt19937 random(7);
    std::deque<int> values;
    operation_table<int> table;
    std::map<std::uint64_t, int*> known;
    CHECK(table.find(3) == nullptr);
    table.erase(3, values.emplace_back(0));
    for (int i = 0; i != 20'000; ++i) {
        const std::uint64_t key = random() % 400 + (random() % 3 << 32);
        if (const auto it = known.find(key); it != known.end()) {
            REQUIRE(table.find(key) == it->second);
            table.erase(key, *it->second);
            known.erase(it);
        } else {
            REQUIRE(table.find(key) == nullptr);
            table.reserve(table.size() + 1);
            table.put(key, values.emplace_back(i));
            known[key] = &values.back();
        }
        REQUIRE(table.size() == known.size());
    }
    for (const auto& [key, value] : known) CHECK(table.find(key) == value);
}

TEST_CASE("operation table: a search looks at as many cells with 16,000 as with 10", "[session]") {
    const auto mean_looks = [](std::uint32_t contexts, std::uint32_t each) {
        operation_table<int> table;
        int value = 0;
        std::size_t looks = 0;
        for (std::uint64_t c = 0; c != contexts; ++c)
            for (std::uint32_t n = 1; n <= each; ++n) table.reserve(table.size() + 1), table.put(c << 32 | n, value);
        for (std::uint64_t c = 0; c != contexts; ++c)
            for (std::uint32_t n = 1; n <= each + 100; ++n) looks += table.looks(c << 32 | n);
        return static_cast<double>(looks) / contexts / (each + 100);
    };
    for (const std::uint32_t contexts : {1u, 2u, 16u}) {
        CAPTURE(contexts);
        CHECK(mean_looks(contexts, 10) < 2);
        CHECK(mean_looks(contexts, 16'000 / contexts) < 2);
    }
}
