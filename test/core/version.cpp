// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/version.hpp>

static_assert(bough::version{} == bough::version{BOUGH_VERSION_MAJOR, BOUGH_VERSION_MINOR, BOUGH_VERSION_PATCH});
static_assert(bough::version{1, 2, 3} != bough::version{1, 2, 4});

TEST_CASE("the version is a value") {
    const bough::version here;
    CHECK(here.major == BOUGH_VERSION_MAJOR);
}
