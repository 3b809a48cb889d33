// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace bough;
using bough::testing::check_shape;
using bough::testing::tree_fault;

static_assert(TreeShape<fnomial>);
static_assert(fnomial{} == fnomial{.degree = 4});
static_assert(outline(tree{fnomial{.degree = 3}, 9}) == "0(1 2 3(4 5) 6(7 8))");
static_assert(outline(tree{fnomial{.degree = 3}, 1}) == "0");
static_assert(outline(tree{fnomial{.degree = 3}, 2}) == "0(1)");
static_assert(outline(tree{fnomial{.degree = 2}, 7}) == "0(1 2(3) 4(5 6))");
static_assert(outline(tree{fnomial{.degree = 3}, 13}) == "0(1 2 3(4 5) 6(7 8) 9(10 11 12))");
static_assert(outline(tree{fnomial{.degree = 4}, 13}) == "0(1 2 3 4(5 6 7) 8(9 10 11) 12)");
static_assert(outline(tree{fnomial{.degree = 5}, 7}) == "0(1 2 3 4 5(6))");
static_assert(outline(tree{fnomial{.degree = 9}, 7}) == "0(1 2 3 4 5 6)"); // a degree of n or more: flat
static_assert(check_shape(fnomial{.degree = 3}, 13) == tree_fault{});
static_assert(fnomial{.degree = 1}.check().code == errc::invalid_argument);
static_assert(fnomial{.degree = 0}.check() && !fnomial{.degree = 2}.check());

// A structural value.
template <auto Shape>
inline constexpr rank_t degree_of = Shape.degree;
static_assert(degree_of<fnomial{.degree = 6}> == 6);

namespace {

// Second derivation: the digits themselves.
std::vector<rank_t> digits(rank_t v, rank_t f) {
    std::vector<rank_t> result;
    for (; v != 0; v /= f) result.push_back(v % f);
    return result;
}
rank_t parent_by_digits(rank_t v, rank_t f) {
    std::vector<rank_t> d = digits(v, f);
    *std::find_if(d.begin(), d.end(), [](rank_t x) { return x != 0; }) = 0;
    std::uint64_t result = 0;
    for (auto x = d.rbegin(); x != d.rend(); ++x) result = result * f + *x;
    return static_cast<rank_t>(result);
}

// Third derivation: play the phases. In each one the ranks still in the game form groups of f; the first of a group
// receives from the others, in order, and stays.
std::vector<std::vector<rank_t>> received_by_playing(rank_t f, rank_t n) {
    std::vector<std::vector<rank_t>> received(n);
    std::vector<rank_t> active(n);
    for (rank_t v = 0; v != n; ++v) active[v] = v;
    while (active.size() > 1) {
        std::vector<rank_t> next;
        for (std::size_t i = 0; i != active.size(); ++i) {
            if (i % f == 0)
                next.push_back(active[i]);
            else
                received[next.back()].push_back(active[i]);
        }
        active = next;
    }
    return received;
}

std::vector<rank_t> received(const fnomial& shape, rank_t v, rank_t n) {
    std::vector<rank_t> result;
    for (rank_t i = shape.child_count(v, n); i-- != 0;) result.push_back(shape.child(v, n, i));
    return result;
}

} // namespace

TEST_CASE("fnomial: the parent clears the lowest non-zero digit") {
    for (rank_t f = 2; f <= 17; ++f) {
        for (rank_t v = 1; v <= 3000; ++v) REQUIRE(fnomial{f}.parent(v, 3001) == parent_by_digits(v, f));
        for (rank_t v : {999'999'999u, 1u << 31, 3u << 30, 0xffff'fffdu, 0xffff'fffcu, 3'486'784'401u})
            REQUIRE(fnomial{f}.parent(v, 0xffff'fffeu) == parent_by_digits(v, f));
        REQUIRE(fnomial{f}.parent(0, 10) == no_rank);
    }
}

TEST_CASE("fnomial: children are what playing the phases gives") {
    for (rank_t f = 2; f <= 12; ++f) {
        for (rank_t n = 1; n <= 200; ++n) {
            const auto expected = received_by_playing(f, n);
            for (rank_t v = 0; v != n; ++v) REQUIRE(received(fnomial{f}, v, n) == expected[v]);
        }
    }
}

TEST_CASE("fnomial: strides near 2^32 neither overflow nor hang") {
    for (rank_t n : {0xffff'fffeu, 0xffff'fffdu, (1u << 31) + 1, 1u << 31, 4'000'000'000u}) {
        for (rank_t f : {2u, 3u, 4u, 5u, 7u, 16u, 1000u, 65'535u, 65'536u, 65'537u, 1u << 31, 0x7fff'ffffu, n - 1, n,
                         0xffff'fffeu, 0xffff'ffffu}) {
            const fnomial shape{.degree = f};
            for (rank_t v : {0u, 1u, 2u, 65'535u, 65'536u, 1u << 30, 1u << 31, n - 2, n - 1}) {
                if (v >= n) continue;
                const rank_t children = shape.child_count(v, n);
                REQUIRE(children <= n - 1 - v);
                for (rank_t i : {0u, 1u, children / 2, children - 2, children - 1}) {
                    if (i >= children) continue;
                    const rank_t child = shape.child(v, n, i);
                    REQUIRE(child > v);
                    REQUIRE(child < n);
                    REQUIRE(shape.parent(child, n) == v);
                    REQUIRE((i == 0 || child < shape.child(v, n, i - 1)));
                }
            }
        }
    }
    STATIC_REQUIRE(fnomial{.degree = 0xffff'ffffu}.child_count(0, 0xffff'fffeu) == 0xffff'fffdu);
    STATIC_REQUIRE(fnomial{.degree = 2}.child_count(0, 0xffff'fffeu) == 32);
    STATIC_REQUIRE(fnomial{.degree = 2}.child(0, 0xffff'fffeu, 0) == 1u << 31);
}

TEST_CASE("fnomial: a subtree is the interval of its stride") {
    // With n = f^m the subtree of v is [v, v + stride), where stride is the value of v's lowest non-zero digit place.
    for (rank_t f : {2u, 3u, 4u, 5u}) {
        const rank_t n = f * f * f * f;
        for (rank_t v = 1; v != n; ++v) {
            rank_t stride = 1;
            while (v % (stride * f) == 0) stride *= f;
            rank_t inside = 0;
            for (rank_t u = 0; u != n; ++u) {
                rank_t up = u;
                while (up != 0 && up != v) up = fnomial{f}.parent(up, n);
                const bool below = up == v;
                inside += below;
                if (below != (u >= v && u < v + stride)) FAIL("f " << f << " v " << v << " u " << u);
            }
            REQUIRE(inside == stride);
        }
    }
}
