// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/core/contract.hpp>

namespace {

constexpr int half(int even) {
    BOUGH_EXPECTS(even % 2 == 0, "even: an odd number has no half");
    return even / 2;
}
static_assert(half(4) == 2); // and half(3) does not compile: test/reject/core_contract.cpp

} // namespace

TEST_CASE("a broken contract prints its sentence and its place, and aborts") {
    const bough_test::last_words said = bough_test::last_words_of([] { half(3); });
    CHECK(said.text.find("bough: even: an odd number has no half (") == 0);
    CHECK(said.has("contract.cpp:"));
    CHECK(said.aborted);
}

TEST_CASE("a kept contract costs no word") {
    const bough_test::last_words said = bough_test::last_words_of([] { half(4); });
    CHECK(said.text.empty());
    CHECK_FALSE(said.aborted);
}
