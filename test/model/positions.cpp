// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/plain_list.hpp>
#include <bough/model/detail/positions.hpp>

using namespace bough;
using model::detail::position;
using model::detail::positions;

TEST_CASE("positions: who waits, for whom, and who was woken since somebody asked") {
    positions ranks(4);
    CHECK(ranks.size() == 4);
    CHECK_FALSE(ranks.awaits(1, no_rank)); // nobody waits
    ranks.leave(1, {.clock_ns = 20, .done = 3, .awaits = 0});
    ranks.leave(2, {.clock_ns = 30, .done = 1, .awaits = no_rank}); // has ended
    CHECK(ranks.awaits(1, 0));
    CHECK_FALSE(ranks.awaits(1, 2));
    CHECK_FALSE(ranks.awaits(2, 0));
    bough::detail::plain_list<rank_t> now(7, rank_t{0});
    CHECK_FALSE(ranks.take_woken(now));
    ranks.leave(3, {.clock_ns = 40, .done = 1, .awaits = 1});
    ranks.wake(3, positions::handed);
    ranks.wake(1, no_rank);
    CHECK_FALSE(ranks.awaits(1, 0));
    CHECK(ranks[3].awaits == positions::handed);
    CHECK((ranks[1].done == 3 && ranks[1].clock_ns == 20));
    CHECK(ranks.take_woken(now));
    CHECK((now.size() == 2 && now[0] == 3 && now[1] == 1));
    CHECK_FALSE(ranks.take_woken(now));
    CHECK(now.empty());
}
