// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/session/ahead.hpp>
#include <bough/tree/flat.hpp>

#include <cstdint>

using namespace bough;

namespace {

prepared to_all(rank_t size) { return prepared(bind_plan(plan_broadcast(flat{}, {.size = size}), 0)); }
constexpr std::uint64_t limit = 100'000; // of a peer: half of it may be ahead
constexpr early_limits limits{.bytes_per_peer = limit, .bytes = 100 * limit};

} // namespace

TEST_CASE("ahead: half of what a peer copies out, from the first message on") {
    prepared work = to_all(4);
    ahead counted(4, limits, true);
    counted.prepare(work);
    CHECK(counted.fits(1, limit / 2 - 256));
    CHECK_FALSE(counted.fits(1, limit / 2 - 255)); // the first that goes to this peer
    CHECK_FALSE(counted.fits(9, limit));           // one that has no place yet
    CHECK_FALSE(counted.fits(1, ~std::uint64_t{0} - 300));
    counted.sent(work, 1, 30'000);
    CHECK(counted.fits(1, 19'000));
    CHECK_FALSE(counted.fits(1, 20'000));
    CHECK(counted.fits(2, 49'000)); // another peer
    counted.forget(work);
    CHECK(counted.fits(1, 49'000));
}

TEST_CASE("ahead: a peer that copies nothing out gets four messages, and no more bytes than others") {
    prepared work = to_all(2);
    ahead counted(2, limits, false);
    counted.prepare(work);
    for (int i = 0; i != 4; ++i) {
        CHECK(counted.fits(1, 12'000));
        CHECK_FALSE(counted.fits(1, 49'800)); // its transport has to keep them
        counted.sent(work, 1, 100);
        if (i == 0) CHECK_FALSE(counted.fits(1, 38'000));
    }
    CHECK_FALSE(counted.fits(1, 0));
    counted.forget(work);
    CHECK(counted.fits(1, 0));
}

TEST_CASE("ahead: without room for early messages nothing is sent ahead") {
    for (const bool copies : {true, false}) {
        prepared work = to_all(2);
        ahead counted(2, {.bytes = 0}, copies);
        counted.prepare(work);
        CHECK_FALSE(counted.fits(1, 0));
    }
}
