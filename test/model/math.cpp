// SPDX-License-Identifier: BSL-1.0
// The constexpr logarithm and square root against those of <cmath>.
#include "support/catch.hpp"
#include <bough/model/math.hpp>

#include <cmath>
#include <limits>

using bough::model::detail::natural_log;
using bough::model::detail::square_root;

static_assert(natural_log(1) == 0);
static_assert(square_root(0) == 0 && square_root(1) == 1 && square_root(144) == 12);

TEST_CASE("natural_log agrees with std::log to a few units in the last place") {
    const auto agrees = [](double x) {
        const double expected = std::log(x);
        CAPTURE(x);
        REQUIRE(std::abs(natural_log(x) - expected) <= 4 * std::numeric_limits<double>::epsilon() * std::abs(expected));
    };
    for (double x = 1e-320; x < 1e308; x *= 1.37) agrees(x);
    for (double x = 0.5; x < 2; x += 1.0 / 1024) agrees(x);
    for (int k = -1074; k <= 1023; ++k) agrees(std::ldexp(1.0, k));
    agrees(std::nextafter(1.0, 0.0));
    agrees(std::nextafter(1.0, 2.0));
    agrees(std::numeric_limits<double>::max());
}

TEST_CASE("square_root agrees with std::sqrt to one unit in the last place") {
    for (double x = 1e-320; x < 1e308; x *= 1.37) {
        CAPTURE(x);
        const double expected = std::sqrt(x);
        REQUIRE(square_root(x) >= std::nextafter(expected, 0.0));
        REQUIRE(square_root(x) <= std::nextafter(expected, 2 * expected));
    }
}
