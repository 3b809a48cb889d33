// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/clock.hpp>

using bough::deadline_after;
using bough::forever;
using bough::detail::milliseconds_until;
using bough::detail::steady_now_ns;

TEST_CASE("clock: it goes on, and poll's patience is rounded up") {
    const std::uint64_t begin = steady_now_ns();
    CHECK(milliseconds_until(begin) == 0);
    CHECK(milliseconds_until(0) == 0);
    CHECK(milliseconds_until(forever) == -1);
    const int soon = milliseconds_until(deadline_after(steady_now_ns(), 60'000'000'000));
    CHECK(soon <= 60'000);
    CHECK(soon > 50'000);
    CHECK(milliseconds_until(deadline_after(steady_now_ns(), 500'000)) <= 1);
    CHECK(milliseconds_until(forever - 1) == 1'000'000'000);
    CHECK(steady_now_ns() > begin);
}
