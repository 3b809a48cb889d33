// SPDX-License-Identifier: BSL-1.0
// Optimised: it walks plans of thousands of ranks.
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/broadcast/circulant.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/pipelined_blocks.hpp>
#include <bough/algorithm/reduce/circulant.hpp>
#include <bough/algorithm/reverse.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

using namespace bough;

namespace {

template <rank_t Root, block_t Blocks>
constexpr auto broadcast_of = [](rank_t size) {
    return plan_broadcast(circulant_broadcast{}, {.size = size, .root = Root % size, .blocks = Blocks});
};
template <rank_t Root, block_t Blocks>
constexpr auto reduce_of =
    [](rank_t size) { return plan_reduce(circulant_reduce{}, {.size = size, .root = Root % size, .blocks = Blocks}); };
static_assert(test::proven_everywhere<broadcast_of<0, 3>>());
static_assert(test::proven_for<broadcast_of<4, 1>, 5, 7>());
static_assert(test::proven_for<broadcast_of<1, 0>, 1, 5>());
static_assert(test::proven_everywhere<reduce_of<0, 3>>());
static_assert(test::proven_for<reduce_of<4, 1>, 5, 7>());
static_assert(test::proven_for<reduce_of<1, 0>, 1, 5>());

// The family gives both.
static_assert(plan_broadcast(circulant{}, {.size = 7}) == plan_broadcast(circulant_broadcast{}, {.size = 7}));
static_assert(plan_reduce(circulant{}, {.size = 7}) == plan_reduce(circulant_reduce{}, {.size = 7}));

constexpr std::uint32_t ceil_log2(std::uint64_t x) {
    std::uint32_t t = 0;
    for (std::uint64_t power = 1; power < x; power *= 2) ++t;
    return t;
}

// The skips, from their definition.
std::vector<rank_t> skips_of(rank_t p) {
    std::vector<rank_t> down{p};
    while (down.back() != 1) down.push_back((down.back() + 1) / 2);
    return {down.rbegin(), down.rend()};
}

// The four conditions that make a broadcast of the schedules of p ranks.
void check_conditions(rank_t p) {
    const std::vector<rank_t> s = skips_of(p);
    const auto q = static_cast<std::uint32_t>(s.size() - 1);
    const detail::circulant_skips skips(p);
    std::vector<detail::circulant_blocks> receives;
    for (rank_t r = 0; r != p; ++r) receives.push_back(detail::circulant_receives(skips, r));
    bool right = true;
    for (rank_t r = 0; r != p; ++r) {
        const detail::circulant_blocks sends = detail::circulant_sends(skips, r);
        // The baseblock by its meaning: the round in which the first block comes, if everybody sends it on at once.
        rank_t rest = r;
        std::uint32_t b = q;
        for (std::uint32_t k = q; k-- != 0;)
            if (rest != 0 && rest >= s[k]) {
                rest -= s[k];
                b = k;
            }
        const std::int32_t earlier = static_cast<std::int32_t>(b) - static_cast<std::int32_t>(q);
        std::set<std::int32_t> expected;
        for (std::uint32_t k = 1; k <= q; ++k) expected.insert(-static_cast<std::int32_t>(k));
        if (r != 0) {
            expected.erase(earlier);
            expected.insert(static_cast<std::int32_t>(b));
        }
        right &= std::set<std::int32_t>(receives[r].begin(), receives[r].begin() + q) == expected;
        for (std::uint32_t k = 0; k != q; ++k) {
            right &= sends[k] == receives[(std::uint64_t{r} + s[k]) % p][k];
            const bool has =
                std::find(receives[r].begin(), receives[r].begin() + k, sends[k]) != receives[r].begin() + k;
            right &= r == 0 ? sends[k] == static_cast<std::int32_t>(k) : sends[k] == earlier || has;
        }
    }
    CAPTURE(p);
    REQUIRE(right);
}

// T(n) of a pipeline.
double time_of(std::uint64_t blocks, std::uint64_t extra, double alpha, double beta, double bytes) {
    const auto n = static_cast<double>(blocks);
    return (n + static_cast<double>(extra)) * (alpha + beta * bytes / n);
}

} // namespace

TEST_CASE("the four conditions hold") {
    for (rank_t p = 1; p <= 4097; ++p)
        if (p <= 130 || bough_test::sampled(p, p <= 1024 ? 16 : 200)) check_conditions(p);
    for (const rank_t p : {1000u, 1023u, 1024u, 2047u, 4095u, 4096u, 4097u}) check_conditions(p);
}

TEST_CASE("the first three conditions hold for very many ranks") {
    for (const rank_t p : {65537u, 99'999u, 1'000'003u, 7'654'321u, 3'000'000'001u, 0xffff'fffeu}) {
        const detail::circulant_skips skips(p);
        CAPTURE(p);
        for (std::uint64_t i = 0; i != 200; ++i) {
            const auto r = static_cast<rank_t>(i < 2 ? (i == 0 ? 1 : p - 1) : 1 + bough_test::mixed(i) % (p - 1));
            const auto receives = detail::circulant_receives(skips, r);
            const auto sends = detail::circulant_sends(skips, r);
            const auto q = static_cast<std::int32_t>(skips.rounds);
            const auto b = static_cast<std::int32_t>(detail::baseblock(skips, r));
            std::set<std::int32_t> expected{b};
            for (std::int32_t k = 1; k <= q; ++k)
                if (-k != b - q) expected.insert(-k);
            REQUIRE(std::set<std::int32_t>(receives.begin(), receives.begin() + q) == expected);
            for (std::uint32_t k = 0; k != skips.rounds; ++k) {
                const auto end = receives.begin() + k;
                REQUIRE((sends[k] == b - q || std::find(receives.begin(), end, sends[k]) != end));
                REQUIRE(sends[k] == detail::circulant_received_ahead(skips, r, k));
            }
        }
    }
}

TEST_CASE("n blocks take n - 1 + ceil(log2 p) rounds, to any number of ranks and back") {
    std::uint64_t number = 0;
    for (rank_t p = 2; p <= 64; ++p) {
        const std::uint32_t q = ceil_log2(p);
        for (const block_t n : std::set<block_t>{1, 2, 3, 5, q, q + 1, 17})
            for (const rank_t root : std::set<rank_t>{0, 1, p / 2, p - 1}) {
                if (!bough_test::sampled(++number, 4)) continue;
                CAPTURE(p, n, root);
                const dimensions at{.size = p, .root = root, .blocks = n};
                const auto broadcast = plan_broadcast(circulant_broadcast{}, at);
                const plan_traits there = test::prove_with_claims(broadcast);
                CHECK(test::rounds_in_order(broadcast) == n - 1 + q);
                CHECK(there.rounds >= n - 1 + q);
                CHECK(there.volume == std::uint64_t{p - 1} * n);
                CHECK(there.messages == there.volume);
                CHECK(there.volume_max <= n - 1 + q);
                const auto reduce = plan_reduce(circulant_reduce{}, at);
                const plan_traits back = test::prove_with_claims(reduce);
                CHECK(test::rounds_in_order(reduce) == n - 1 + q);
                CHECK(back.rounds >= n - 1 + q);
                CHECK(back.volume == there.volume);
                CHECK(back.combines == there.volume);
                CHECK(back.combines_max == there.volume_max);
                CHECK(back.volume_max == n);
                // The general form combines the same, but needs more scratch.
                const plan_traits reversed = verify(plan_reduce(reverse(circulant_broadcast{}), at)).traits;
                CHECK(back.bracket == reversed.bracket);
                CHECK(back.scratch_max <= 2 * std::uint64_t{n});
            }
    }
}

TEST_CASE("n blocks take n - 1 + ceil(log2 p) rounds among up to 4097 ranks, message by message") {
    for (rank_t p = 65; p <= 4097; ++p) {
        const bool picked = p == 1000 || p >= 4095 || (bough_test::all() ? p % 64 < 2 : bough_test::sampled(p, 400));
        if (!picked) continue;
        for (const block_t n : {1u, 5u, 18u}) {
            CAPTURE(p, n);
            const dimensions at{.size = p, .root = n == 5 ? 0 : p / 3, .blocks = n};
            CHECK(test::rounds_in_order(plan_broadcast(circulant_broadcast{}, at)) == n - 1 + ceil_log2(p));
            CHECK(test::rounds_in_order(plan_reduce(circulant_reduce{}, at)) == n - 1 + ceil_log2(p));
        }
    }
}

TEST_CASE("one rank, and no blocks") {
    for (const block_t n : {0u, 1u, 4u}) {
        CHECK(test::prove_with_claims(plan_broadcast(circulant_broadcast{}, {.size = 1, .blocks = n})).messages == 0);
        CHECK(test::prove_with_claims(plan_reduce(circulant_reduce{}, {.size = 1, .blocks = n})).messages == 0);
    }
    CHECK(
        test::prove_with_claims(plan_broadcast(circulant_broadcast{}, {.size = 9, .root = 4, .blocks = 0})).messages ==
        0);
    CHECK(test::prove_with_claims(plan_reduce(circulant_reduce{}, {.size = 9, .root = 4, .blocks = 0})).messages == 0);
    for (const rank_t p : {1u, 2u, 3u, 4u, 5u, 1000u})
        CHECK(circulant_broadcast{}.natural_blocks(p) == std::max(1u, ceil_log2(p)));
}

TEST_CASE("pipelined_blocks is the best number of blocks") {
    for (const std::uint64_t extra : {0u, 1u, 3u, 9u, 62u})
        for (const double alpha : {0.0, 1.0, 1500.0, 5000.0})
            for (const double beta : {0.0, 0.1, 1.0})
                for (const std::uint64_t bytes : {0u, 8u, 4096u, 1u << 20}) {
                    CAPTURE(extra, alpha, beta, bytes);
                    const block_t best = pipelined_blocks(extra, alpha, beta, bytes, 400);
                    double least = time_of(1, extra, alpha, beta, static_cast<double>(bytes));
                    for (std::uint64_t n = 2; n <= 400; ++n)
                        least = std::min(least, time_of(n, extra, alpha, beta, static_cast<double>(bytes)));
                    const double found = time_of(best, extra, alpha, beta, static_cast<double>(bytes));
                    REQUIRE(found <= least * (1 + 1e-12));
                }
    // The closed form: sqrt(f beta m / alpha), and T = (sqrt(f alpha) + sqrt(beta m))^2 within a thousandth.
    const block_t best = pipelined_blocks(9, 5000, 1, 1u << 24, 100'000);
    CHECK(std::abs(best - std::sqrt(9.0 * (1u << 24) / 5000)) < 1);
    const double closed = std::sqrt(9.0 * 5000) + std::sqrt(static_cast<double>(1u << 24));
    CHECK(std::abs(time_of(best, 9, 5000, 1, 1u << 24) / (closed * closed) - 1) < 1e-3);
    static_assert(pipelined_blocks(2, 1000, 1, 0, 100) == 1);
    static_assert(pipelined_blocks(2, 0, 1, 1000, 100) == 100);
}

TEST_CASE("no mutant of a circulant broadcast or reduce passes for it") {
    for (const rank_t p : {2u, 3u, 5u, 7u}) {
        CAPTURE(p);
        const dimensions at{.size = p, .root = p / 2, .blocks = 3};
        CHECK(test::spoil(plan_broadcast(circulant_broadcast{}, at)) != 0);
        CHECK(test::spoil(plan_reduce(circulant_reduce{}, at)) != 0);
    }
}
