// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/testing/detail/process_script.hpp>

#include <cstdint>

using namespace bough;
using testing::detail::process_script;
using section = process_script::section;

TEST_CASE("process_script: plain messages, then pairs of one that is taken back and its report, then the flood") {
    const process_script script({.messages = 10, .cancellations = 3, .longest = 5000}, 3);
    CHECK((script.next(0) == 1 && script.next(2) == 0));
    for (const rank_t to : {1u, 2u}) CHECK(script.section_of(0, to, 9) == section::plain);
    for (std::uint32_t n = 10; n != 16; ++n)
        CHECK(script.section_of(0, 1, n) == (n % 2 == 0 ? section::cancelled : section::report));
    CHECK(script.section_of(0, 1, 16) == section::flood);
    CHECK(script.section_of(0, 2, 10) == section::flood); // only the next rank's are taken back
    CHECK(script.section_of(1, 0, 10) == section::ready);
    CHECK(script.due(0, 1) == 16);
    CHECK(script.due(0, 2) == 10);
    CHECK(script.due(1, 0) == 11); // rank 1 says when it stops polling
    CHECK(script.due(2, 0) == 16);
}

TEST_CASE("process_script: messages that are taken back are long, and those of the flood are short") {
    const process_script script({.messages = 10, .cancellations = 3, .longest = 5000}, 3);
    CHECK(script.content(0, 1, 10).size() == 5000);
    CHECK(script.content(0, 1, 16).size() == 8);
    for (std::uint32_t n = 0; n != 10; ++n) CHECK(script.content(0, 1, n).size() <= 5000);
    CHECK(process_script({.longest = 1}, 2).content(0, 1, 400).size() == 64); // the least
    CHECK(script.is_word(0, 1, 11, 16));
    CHECK_FALSE(script.is_word(0, 1, 10, 16));
    CHECK(script.is_word(0, 1, 20, 16)); // the end of the flood
    CHECK_FALSE(script.is_word(0, 1, 20, 8));
    CHECK(script.is_word(1, 0, 10, 16));
}

TEST_CASE("process_script: each message has an envelope of its own") {
    CHECK(process_script::tag(0, 1, 5) == process_script::tag(0, 1, 5));
    CHECK_FALSE(process_script::tag(0, 1, 5) == process_script::tag(0, 1, 6));
    CHECK_FALSE(process_script::tag(0, 1, 5) == process_script::tag(1, 0, 5));
}
