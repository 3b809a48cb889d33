// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/deadline.hpp>

using namespace bough;

static_assert(deadline_after(5, 7) == 12);
static_assert(deadline_after(5, 0) == 5);
static_assert(deadline_after(0, forever) == forever);
static_assert(deadline_after(5, forever) == forever);
static_assert(deadline_after(5, forever - 5) == forever);
static_assert(deadline_after(5, forever - 6) == forever - 1);
static_assert(deadline_after(forever, 1) == forever);

static_assert(time_left(5, 12) == 7);
static_assert(time_left(12, 12) == 0);
static_assert(time_left(13, 12) == 0);
static_assert(time_left(13, forever) == forever);

TEST_CASE("deadline: no timeout wraps, and what is left ends where the deadline is") {
    for (const std::uint64_t now : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 62, forever - 1}) {
        for (const std::uint64_t timeout : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63, forever}) {
            const std::uint64_t last = deadline_after(now, timeout);
            CAPTURE(now, timeout, last);
            CHECK(last >= now);
            CHECK((last == forever || last - now == timeout));
            CHECK((time_left(now, last) == timeout || time_left(now, last) == forever));
        }
    }
}
