// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/config.hpp>
#include <bough/core/version.hpp>

#include <string_view>

static_assert(bough::version{} == bough::version{BOUGH_VERSION_MAJOR, BOUGH_VERSION_MINOR, BOUGH_VERSION_PATCH});
static_assert(bough::version{1, 2, 3} != bough::version{1, 2, 4});

TEST_CASE("the version is a value, and part of every name") {
    CHECK(std::string_view(BOUGH_ABI_TEXT)
              .find("v" BOUGH_TEXT_(BOUGH_VERSION_MAJOR) "_" BOUGH_TEXT_(BOUGH_VERSION_MINOR) "_") == 0);
    const bough::version here;
    CHECK(here.major == BOUGH_VERSION_MAJOR);
}
