// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/event_round.hpp>

#include <cstdint>
#include <vector>

using namespace bough;

namespace {

std::vector<std::uint64_t> taken(detail::event_round& round) {
    std::vector<std::uint64_t> made;
    round.take([&](std::uint64_t id) { made.push_back(id); });
    return made;
}
constexpr std::uint64_t id(std::uint64_t ticket, std::uint64_t step) { return ticket << 32 | step; }

} // namespace

TEST_CASE("event_round: an operation is noted once for events in a row, and again after another one's") {
    detail::event_round round;
    round.note(id(1, 5), false);
    round.note(id(1, 6), false);
    round.note(id(2, 0), false);
    round.note(id(1, 7), false);
    CHECK(taken(round) == std::vector{id(1, 5), id(2, 0), id(1, 7)});
    CHECK(taken(round).empty());
    round.note(id(1, 8), false); // the round before does not count
    CHECK(taken(round) == std::vector{id(1, 8)});
    for (const std::uint64_t step : {3u, 4u}) round.note(id(1, step), true);
    CHECK(taken(round) == std::vector{id(1, 3), id(1, 4)});
}

TEST_CASE("event_round: there is room for 64, and then again") {
    detail::event_round round;
    for (int again = 0; again != 2; ++again) {
        for (std::uint64_t k = 0; k != 64; ++k) {
            CHECK(round.has_room(64 - k));
            CHECK_FALSE(round.has_room(65 - k));
            round.note(id(k, 0), false);
        }
        CHECK(taken(round).size() == 64);
    }
}

TEST_CASE("event_round: is open from its begin to its end") {
    detail::event_round round;
    CHECK_FALSE(round.is_open());
    round.begin();
    CHECK(round.is_open());
    round.end();
    CHECK_FALSE(round.is_open());
}
