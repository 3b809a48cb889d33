// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/schedule/traffic.hpp>
#include <bough/testing/tree_laws.hpp>
#include <bough/tree/bine.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/depth.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

using namespace bough;

static_assert(TreeShape<bine>);
static_assert(outline(tree{bine{}, 8}) == "0(1 7(6) 3(2 4(5)))");
static_assert(outline(tree{bine{}, 7}) == "0(1 6(5) 2(3 4))");
static_assert(testing::lawful<testing::check_shape(bine{}, 1)>() && testing::lawful<testing::check_shape(bine{}, 2)>());
static_assert(testing::lawful<testing::check_shape(bine{}, 13)>() &&
              testing::lawful<testing::check_shape(bine{}, 16)>());
static_assert(bine{}.parent(0, 0xffff'fffeu) == no_rank && bine{}.child_count(0, 0xffff'fffeu) == 32);

static_assert(verify(plan_broadcast(bine{}, {.size = 7, .root = 2})));
static_assert(verify(plan_reduce(bine{}, {.size = 8})));

namespace {

// The digits of a rank to the base -2: of its number, or of that less n. n: a power of two.
constexpr rank_t digits_of(rank_t v, rank_t n) { return ((v + 0xaaaa'aaaau) ^ 0xaaaa'aaaau) & (n - 1); }
constexpr rank_t rank_of(rank_t digits, rank_t n) { return ((digits ^ 0xaaaa'aaaau) - 0xaaaa'aaaau) & (n - 1); }
// The paper's parent: all the lowest digits, which are equal, change together.
constexpr rank_t parent_by_digits(rank_t v, rank_t n) {
    const rank_t digits = digits_of(v, n);
    if (digits == 0) return no_rank;
    const int equal = std::countr_zero(digits ^ (digits >> 1)) + 1;
    return rank_of(digits ^ (((rank_t{1} << (equal - 1)) << 1) - 1), n);
}

} // namespace

TEST_CASE("bine: a tree for any number of ranks, as deep as a binomial one, that sends as long") {
    for (rank_t n = 1; n <= 300; ++n) {
        CAPTURE(n);
        CHECK(testing::check_shape(bine{}, n).law == testing::tree_law::none);
        const tree t{bine{}, n};
        const auto rounds = static_cast<rank_t>(std::bit_width(n - 1));
        CHECK(t.child_count(0) == rounds);
        // Each rank has the data in time for its children: the i-th of the root after i + 1 rounds, and so on.
        for (rank_t v = 1; v != n; ++v) {
            rank_t round = 0, at = v;
            for (rank_t up = t.parent(at); up != no_rank; at = up, up = t.parent(up)) {
                rank_t i = 0;
                while (t.child(up, i) != at) ++i;
                round += i + 1;
            }
            CHECK(round + t.child_count(v) <= rounds);
        }
    }
}

TEST_CASE("bine: collectives over it are proved, in as many rounds as over a binomial tree") {
    for (rank_t n = 1; n <= 64; ++n)
        for (const rank_t at : {rank_t{0}, n - 1}) {
            const auto rounds = static_cast<rank_t>(std::bit_width(n - 1));
            CAPTURE(n, at);
            const verdict sent = verify(plan_broadcast(bine{}, {.size = n, .root = at}));
            REQUIRE(sent);
            CHECK(sent.traits.rounds == rounds);
            const verdict reduced = verify(plan_reduce(bine{}, {.size = n, .root = at}));
            REQUIRE(reduced);
            CHECK(reduced.traits.rounds == rounds);
            CHECK(verify_claims(plan_allreduce(bine{}, {.size = n, .root = at})));
        }
}

TEST_CASE("bine: of a power of two, the tree of the digits to the base -2, or its mirror image") {
    for (rank_t n = 1; n <= 4096; n *= 2) {
        const bool mirrored = std::bit_width(n) % 2 != 0; // an even number of digits: the interval lies the other way
        const auto image = [&](rank_t v) { return mirrored && v != 0 && v != no_rank ? n - v : v; };
        bool same = true;
        for (rank_t v = 0; v != n; ++v) same &= bine{}.parent(v, n) == image(parent_by_digits(image(v), n));
        CAPTURE(n);
        CHECK(same);
    }
}

TEST_CASE("bine: no partner is further than half of the ring, the first a third of it") {
    for (const rank_t n : {8u, 100u, 1000u, 1024u, 4095u}) {
        std::uint64_t sum = 0, binomial_sum = 0;
        const auto apart = [n](rank_t a, rank_t b) {
            return std::min(a > b ? a - b : b - a, n - (a > b ? a - b : b - a));
        };
        for (rank_t v = 1; v != n; ++v) {
            sum += apart(v, bine{}.parent(v, n));
            binomial_sum += apart(v, binomial{}.parent(v, n));
        }
        CAPTURE(n, sum, binomial_sum);
        CHECK(apart(0, bine{}.child(0, n, 0)) <= n / 3 + 1);
        CHECK(sum * 10 <= binomial_sum * 8);
    }
}

TEST_CASE("bine: between groups that are not aligned, a broadcast sends a fifth less than over a binomial tree") {
    for (const rank_t n : {1000u, 1024u})
        for (const rank_t group : {16u, 48u}) {
            std::uint64_t near = 0, far = 0;
            for (rank_t shift = 0; shift != group; ++shift) {
                const auto of = [=](rank_t r) { return (r + shift) / group; };
                near += traffic(plan_broadcast(bine{}, {.size = n}), of).across.blocks;
                far += traffic(plan_broadcast(binomial{}, {.size = n}), of).across.blocks;
            }
            CAPTURE(n, group, near, far);
            CHECK(near * 100 <= far * 81);
        }
}
