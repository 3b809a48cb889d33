// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/freeze.hpp>

#include <array>
#include <type_traits>
#include <vector>

namespace {

constexpr auto squares = bough::freeze<[] {
    std::vector<int> made;
    for (int i = 0; i != 5; ++i) made.push_back(i * i);
    return made;
}>();
static_assert(std::is_same_v<decltype(squares), const std::array<int, 5>>);
static_assert(squares == std::array{0, 1, 4, 9, 16});
static_assert(bough::freeze<[] { return std::vector<int>(); }>().size() == 0);

// What is frozen is structural: it can be a template argument.
template <auto Values>
constexpr int last = Values.back();
static_assert(last<squares> == 16);

} // namespace

TEST_CASE("a frozen sequence is there at run time") { REQUIRE(squares[4] == 16); }
