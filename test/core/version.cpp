// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/version.hpp>

#include <string_view>

static_assert(bough::version{} == bough::version{BOUGH_VERSION_MAJOR, BOUGH_VERSION_MINOR, BOUGH_VERSION_PATCH});
static_assert(bough::version{1, 2, 3} != bough::version{1, 2, 4});

#define VERSION_TEXT_OF(...) #__VA_ARGS__
#define VERSION_TEXT(...) VERSION_TEXT_OF(__VA_ARGS__)

TEST_CASE("the version is a value, and part of every name") {
    CHECK(std::string_view(VERSION_TEXT(BOUGH_ABI))
              .find("v" VERSION_TEXT(BOUGH_VERSION_MAJOR) "_" VERSION_TEXT(BOUGH_VERSION_MINOR) "_") == 0);
    const bough::version here;
    CHECK(here.major == BOUGH_VERSION_MAJOR);
}
