// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/event_round.hpp>

#include <cstdint>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using noted = std::vector<std::pair<std::uint64_t, bool>>;
noted of(const detail::event_round& round) {
    noted made;
    round.for_each([&](std::uint64_t id, bool told) { made.emplace_back(id, told); });
    return made;
}
constexpr std::uint64_t id(std::uint64_t ticket, std::uint64_t step) { return ticket << 32 | step; }

} // namespace

TEST_CASE("event_round: an operation is noted once for events in a row, and again after another one's") {
    detail::event_round round;
    round.note(id(1, 5), false);
    round.note(id(1, 6), false);
    round.note(id(0x7fff'ffff, 0), false);
    round.note(id(1, 7), false);
    CHECK(of(round) == noted{{id(1, 5), false}, {id(0x7fff'ffff, 0), false}, {id(1, 7), false}});
    CHECK_FALSE(round.any_told());
    round.forget();
    CHECK(of(round).empty());
    round.note(id(1, 8), false); // what was before does not count
    CHECK(of(round) == noted{{id(1, 8), false}});
}

TEST_CASE("event_round: who wants to hear of each event hears of each") {
    detail::event_round round;
    round.note(id(1, 2), false);
    for (const std::uint64_t step : {3u, 4u}) round.note(id(1, step), true);
    round.note(id(1, 5), false); // of an operation that has been noted
    CHECK(of(round) == noted{{id(1, 2), false}, {id(1, 3), true}, {id(1, 4), true}});
    CHECK(round.any_told());
    round.forget();
    CHECK_FALSE(round.any_told());
    for (std::uint64_t k = 0; k != detail::event_round::most; ++k) round.note(id(k, k), true);
    CHECK(of(round).size() == detail::event_round::most);
    CHECK(of(round).back() == std::pair{id(63, 63), true});
}

TEST_CASE("event_round: is open from its begin to its end") {
    detail::event_round round;
    CHECK_FALSE(round.is_open());
    round.begin();
    CHECK(round.is_open());
    round.end();
    CHECK_FALSE(round.is_open());
}
