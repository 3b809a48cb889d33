// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/shapes.hpp"
#include <bough/testing/tree_archetype.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

using namespace bough;
using bough::testing::make_archetype;
using bough::testing::tree_archetype;

static_assert(outline(tree{fnomial{.degree = 3}, 9}) == "0(1 2 3(4 5) 6(7 8))");
static_assert(outline(tree{fnomial{.degree = 3}, 9}) != "0(1 2 3(4 5) 6(7 9))");
static_assert(outline(tree{binomial{}, 5}) == outline(tree{fnomial{.degree = 2}, 5}));
static_assert(outline(tree{binomial{}, 5}) == std::string_view{"0(1 2(3) 4)"});
static_assert(outline(tree_archetype{make_archetype{}, 3}) == "0(2 1)");

TEST_CASE("outline: text for people") {
    const auto text = outline(tree{flat{}, 12, 10});
    REQUIRE(text.str() == "10(11 0 1 2 3 4 5 6 7 8 9)");
    std::ostringstream out;
    out << text;
    REQUIRE(out.str() == text.str());
    const std::string_view view = text;
    REQUIRE(view == text.view());
    outline_text largest;
    largest.append(rank_t{0xffff'ffffu});
    REQUIRE(largest == "4294967295");
}

TEST_CASE("outlines: all shapes at awkward sizes, as kept in golden/outlines.txt") {
    std::ostringstream now;
    test::for_each_shape([&](const char* name, auto shape) {
        for (rank_t n : {1u, 2u, 3u, 5u, 7u, 8u, 13u, 17u, 32u})
            now << name << " " << n << ": " << outline(tree{shape, n}) << "\n";
        now << name << " 13 root 5: " << outline(tree{shape, 13, 5}) << "\n";
        if (shape.rank_ordered()) now << name << " 13 root 5 in order: " << outline(in_order{shape, 13, 5}) << "\n";
    });
    std::ifstream file(bough_test::golden_path("outlines.txt"));
    REQUIRE(file);
    std::istringstream lines(now.str());
    std::string expected, actual;
    while (std::getline(file, expected)) {
        REQUIRE(std::getline(lines, actual));
        REQUIRE(actual == expected);
    }
    REQUIRE((!std::getline(lines, actual) && lines.eof()));
}
