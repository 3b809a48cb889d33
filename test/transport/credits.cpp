// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/detail/credits.hpp>

#include <cstdint>

using namespace bough;
using detail::message_credits;

TEST_CASE("credits: a window of messages to each rank, and more when some are used up") {
    message_credits credits(3, 4);
    int sent = 0;
    for (; credits.has_room(1); ++sent) credits.sent(1);
    CHECK(sent == 4);
    CHECK(credits.has_room(2));
    credits.freed(1, 3);
    for (; credits.has_room(1); ++sent) credits.sent(1);
    CHECK(sent == 7);
    credits.freed(1, 3); // says nothing new
    CHECK_FALSE(credits.has_room(1));
}

TEST_CASE("credits: sixteen bits of a count are enough for ever") {
    message_credits credits(2, 8);
    std::uint32_t sent = 0;
    for (std::uint32_t used = 0; used <= 200'000; used += 8) {
        credits.freed(1, static_cast<std::uint16_t>(used));
        for (; credits.has_room(1); ++sent) credits.sent(1);
        REQUIRE(sent == used + 8);
    }
}

TEST_CASE("credits: a rank is told of half a window") {
    message_credits credits(2, 5);
    for (int turn = 0; turn != 3; ++turn) {
        for (int i = 0; i != 2; ++i) {
            credits.use(1);
            CHECK_FALSE(credits.owes(1));
        }
        credits.use(1);
        CHECK(credits.owes(1));
        CHECK_FALSE(credits.owes(0));
        credits.told(1);
        CHECK_FALSE(credits.owes(1));
    }
    CHECK(credits.used(1) == 9);
}
