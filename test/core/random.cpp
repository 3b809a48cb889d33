// SPDX-License-Identifier: BSL-1.0
// Random numbers: the same on every machine, and what they should be on average.
#include "support/catch.hpp"
#include <bough/core/random.hpp>

#include <array>
#include <cmath>
#include <cstdint>

namespace {

static_assert(bough::mix_bits(0) == 0xe220'a839'7b1d'cdafu);
static_assert(bough::random_sequence(1, 2, 3).below(1'000'000) == 71'663);

// The reference numbers of SplitMix64 for seed 0.
constexpr std::uint64_t drawn(int number) {
    bough::detail::split_mix random(0);
    for (; number != 0; --number) random();
    return random();
}
static_assert(drawn(0) == 0xe220'a839'7b1d'cdafu && drawn(1) == 0x6e78'9e6a'a1b9'65f4u);
static_assert(drawn(2) == 0x06c4'5d18'8009'454fu && drawn(3) == 0xf88b'b8a8'724c'81ecu);

} // namespace

TEST_CASE("random: numbers are what they should be on average") {
    double sum = 0, squares = 0, exponential = 0, above = 0;
    constexpr int n = 20'000;
    for (int i = 0; i != n; ++i) {
        bough::random_sequence random(7, 1, static_cast<std::uint64_t>(i));
        const double u = random.unit();
        const double e = random.exponential();
        sum += u;
        squares += u * u;
        exponential += e;
        above += e > 1;
    }
    CHECK(sum / n == Approx(0.5).margin(0.01));
    CHECK(squares / n == Approx(1 / 3.0).margin(0.01));
    CHECK(exponential / n == Approx(1).margin(0.03));
    CHECK(above / n == Approx(std::exp(-1.0)).margin(0.015));
}

TEST_CASE("random: numbers below a bound are all below it and equally frequent; chances are as often as they say") {
    bough::detail::split_mix draw(3);
    std::array<int, 7> count{};
    for (int i = 0; i != 70'000; ++i) {
        const std::uint64_t drawn = draw.below(count.size());
        REQUIRE(drawn < count.size());
        ++count[drawn];
    }
    for (const int c : count) CHECK(c == Approx(10'000).epsilon(0.04));
    for (const std::uint32_t in_1000 : {0u, 1u, 250u, 999u, 1000u}) {
        int came = 0;
        for (int i = 0; i != 100'000; ++i) came += draw.chance(in_1000) ? 1 : 0;
        CAPTURE(in_1000);
        CHECK(came == Approx(100 * in_1000).epsilon(0.02).margin(in_1000 == 0 ? 0 : 50));
        if (in_1000 == 1000) CHECK(came == 100'000);
    }
}
