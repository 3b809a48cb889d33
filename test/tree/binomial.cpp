// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <vector>

using namespace bough;

static_assert(TreeShape<binomial>);
static_assert(binomial{}.rank_ordered() && !binomial{.orientation = orientation::high}.rank_ordered());
static_assert(outline(tree{binomial{}, 8}) == "0(1 2(3) 4(5 6(7)))");
static_assert(outline(tree{binomial{}, 13}) == "0(1 2(3) 4(5 6(7)) 8(9 10(11) 12))");
static_assert(outline(tree{binomial{.orientation = orientation::high}, 8}) == "0(4 2(6) 1(5 3(7)))");
static_assert(outline(tree{binomial{.orientation = orientation::high}, 1}) == "0");
static_assert(outline(tree{binomial{.orientation = orientation::high}, 7}) == "0(4 2(6) 1(5 3))");

TEST_CASE("binomial low is fnomial 2") {
    for (rank_t n = 1; n <= 130; ++n) {
        for (rank_t v = 0; v != n; ++v) {
            REQUIRE(binomial{}.parent(v, n) == fnomial{2}.parent(v, n));
            REQUIRE(binomial{}.child_count(v, n) == fnomial{2}.child_count(v, n));
            for (rank_t i = 0; i != binomial{}.child_count(v, n); ++i)
                REQUIRE(binomial{}.child(v, n, i) == fnomial{2}.child(v, n, i));
        }
    }
}

TEST_CASE("binomial high: at powers of two it is low with the bits of each rank mirrored") {
    const auto mirror = [](rank_t v, int bits) {
        rank_t result = 0;
        for (int b = 0; b != bits; ++b) result |= (v >> b & 1) << (bits - 1 - b);
        return result;
    };
    const binomial high{.orientation = orientation::high};
    for (int bits = 0; bits <= 8; ++bits) {
        const rank_t n = rank_t{1} << bits;
        for (rank_t v = 0; v != n; ++v) {
            const rank_t m = mirror(v, bits);
            REQUIRE(high.child_count(v, n) == binomial{}.child_count(m, n));
            for (rank_t i = 0; i != high.child_count(v, n); ++i)
                REQUIRE(high.child(v, n, i) == mirror(binomial{}.child(m, n, i), bits));
            if (v != 0) REQUIRE(high.parent(v, n) == mirror(binomial{}.parent(m, n), bits));
        }
    }
}

TEST_CASE("binomial: both orientations send the largest subtree first, at every size") {
    for (orientation o : {orientation::low, orientation::high}) {
        for (rank_t n = 1; n <= 100; ++n) {
            const binomial shape{.orientation = o};
            std::vector<rank_t> below(n, 1); // the size of each subtree: parents have lower numbers
            for (rank_t v = n; v-- != 1;) below[shape.parent(v, n)] += below[v];
            for (rank_t v = 0; v != n; ++v) {
                // Low: n may cut the first one short, and only that one.
                const rank_t from = o == orientation::low ? 2 : 1;
                for (rank_t i = from; i < shape.child_count(v, n); ++i)
                    REQUIRE(below[shape.child(v, n, i - 1)] >= below[shape.child(v, n, i)]);
            }
        }
    }
}

TEST_CASE("binomial high near 2^32") {
    const binomial high{.orientation = orientation::high};
    const rank_t n = 0xffff'fffeu;
    REQUIRE(high.child_count(0, n) == 32);
    REQUIRE(high.child(0, n, 31) == 1u << 31);
    REQUIRE(high.child_count(1u << 31, n) == 0);
    REQUIRE(high.child_count(0x7fff'fffdu, n) == 1);
    REQUIRE(high.child(0x7fff'fffdu, n, 0) == 0xffff'fffdu);
    REQUIRE(high.child_count(0x7fff'fffeu, n) == 0);
    REQUIRE(high.parent(n - 1, n) == 0x7fff'fffdu);
}
