// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/deadline.hpp>
#include <bough/core/duration.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

using bough::forever;
using bough::nanoseconds_of;

namespace {
template <class Count, std::intmax_t Num, std::intmax_t Den>
using of = std::chrono::duration<Count, std::ratio<Num, Den>>;
constexpr auto most = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t second = 1'000'000'000;
} // namespace

TEST_CASE("duration: whole nanoseconds of every usual period, rounded down") {
    using namespace std::chrono;
    STATIC_REQUIRE(nanoseconds_of(nanoseconds(7)) == 7);
    STATIC_REQUIRE(nanoseconds_of(microseconds(7)) == 7'000);
    STATIC_REQUIRE(nanoseconds_of(milliseconds(1'999)) == 1'999'000'000);
    STATIC_REQUIRE(nanoseconds_of(seconds(5)) == 5 * second);
    STATIC_REQUIRE(nanoseconds_of(hours(2)) == 7'200 * second);
    STATIC_REQUIRE(nanoseconds_of(of<int, 1, 3>(10)) == 3'333'333'333);
    STATIC_REQUIRE(nanoseconds_of(of<std::int64_t, 1, 1'000'000'000'000>(1'234'567)) == 1'234); // picoseconds
    STATIC_REQUIRE(nanoseconds_of(duration<double>(0.25)) == second / 4);
    STATIC_REQUIRE(nanoseconds_of(duration<float, std::milli>(1.5f)) == 1'500'000);
}

TEST_CASE("duration: nothing is shorter than 0 or longer than forever") {
    using namespace std::chrono;
    STATIC_REQUIRE(nanoseconds_of(seconds(0)) == 0);
    STATIC_REQUIRE(nanoseconds_of(seconds(-1)) == 0);
    STATIC_REQUIRE(nanoseconds_of(duration<double>(-0.5)) == 0);
    STATIC_REQUIRE(nanoseconds_of(duration<double>(std::numeric_limits<double>::quiet_NaN())) == 0);
    STATIC_REQUIRE(nanoseconds_of(duration<double>(1e30)) == forever);
    STATIC_REQUIRE(nanoseconds_of(hours(most)) == forever);
    STATIC_REQUIRE(nanoseconds_of(nanoseconds(most)) == static_cast<std::uint64_t>(most));
}

TEST_CASE("duration: a period of centuries, or a fraction of one, overflows into forever") {
    // 3.3e10 s and 1.4e10 s: more and less than the 1.8e10 s that 64 bits of nanoseconds hold.
    STATIC_REQUIRE(nanoseconds_of(of<int, 100'000'000'000, 3>(1)) == forever);
    constexpr std::uint64_t some = nanoseconds_of(of<int, 100'000'000'000, 7>(1));
    STATIC_REQUIRE(some / second == 100'000'000'000 / 7);
    STATIC_REQUIRE(nanoseconds_of(of<int, 100'000'000'000, 7>(2)) == forever);
    STATIC_REQUIRE(nanoseconds_of(of<int, 1'000'000'000, 19>(1)) / second == 52'631'578);
    STATIC_REQUIRE(nanoseconds_of(of<std::int64_t, 100'000'000'000, 1'000'000'007>(1'000'000'006)) == forever);
}
