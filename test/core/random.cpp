// SPDX-License-Identifier: BSL-1.0
// Random numbers: the same on every machine, and what they should be on average.
#include "support/catch.hpp"
#include <bough/core/random.hpp>

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
