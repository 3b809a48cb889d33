// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/ring.hpp>
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
    CHECK(counted.fits(1, limit / 2 - 256, 1));
    CHECK_FALSE(counted.fits(1, limit / 2 - 255, 1)); // the first that goes to this peer
    CHECK_FALSE(counted.fits(9, limit, 1));           // one that has no place yet
    CHECK_FALSE(counted.fits(1, ~std::uint64_t{0} - 300, 1));
    counted.sent(work, 1, 30'000);
    CHECK(counted.fits(1, 19'000, 1));
    CHECK_FALSE(counted.fits(1, 20'000, 1));
    CHECK(counted.fits(2, 49'000, 1)); // another peer
    counted.forget(work);
    CHECK(counted.fits(1, 49'000, 1));
}

TEST_CASE("ahead: a peer that copies nothing out gets four messages, and no more bytes than others") {
    prepared work = to_all(2);
    ahead counted(2, limits, false);
    counted.prepare(work);
    for (int i = 0; i != 4; ++i) {
        CHECK(counted.fits(1, 12'000, 1));
        CHECK_FALSE(counted.fits(1, 49'800, 1)); // its transport has to keep them
        counted.sent(work, 1, 100);
        if (i == 0) CHECK_FALSE(counted.fits(1, 38'000, 1));
    }
    CHECK_FALSE(counted.fits(1, 0, 1));
    counted.forget(work);
    CHECK(counted.fits(1, 0, 1));
}

TEST_CASE("ahead: without room for early messages nothing is sent ahead") {
    for (const bool copies : {true, false}) {
        prepared work = to_all(2);
        ahead counted(2, {.bytes = 0}, copies);
        counted.prepare(work);
        CHECK_FALSE(counted.fits(1, 0, 1));
    }
}

TEST_CASE("ahead: what an operation leaves behind at its end counts until older ones have ended") {
    prepared work = to_all(3), later = to_all(3);
    ahead counted(3, limits, true);
    counted.prepare(work);
    counted.prepare(later);
    counted.sent(work, 1, 30'000);
    counted.end(work, 7, 3); // it came as the 7th, and the 3rd is the oldest
    CHECK_FALSE(counted.fits(1, 20'000, 3));
    CHECK_FALSE(counted.fits(1, 20'000, 6));
    CHECK(counted.fits(1, 19'000, 6));
    CHECK(counted.fits(2, 49'000, 3)); // another peer
    counted.sent(later, 1, 10'000);
    counted.end(later, 9, 6);
    CHECK_FALSE(counted.fits(1, 10'000, 8));
    CHECK(counted.fits(1, 49'000, 9));
    counted.sent(later, 1, 10'000); // nothing of the former counts any more
    counted.end(later, 12, 10);
    CHECK(counted.fits(1, 39'000, 10));
    CHECK_FALSE(counted.fits(1, 40'000, 0x7fff'ffff)); // tickets wrap: this one is older
}

TEST_CASE("ahead: what a peer has started does not count, and short messages count for their bytes") {
    prepared work = to_all(2), heard(bind_plan(plan_allreduce(ring{}, {.size = 2}), 0));
    ahead counted(2, limits, false);
    counted.prepare(work);
    for (int i = 0; i != 40; ++i) { // at most four are in flight, but many may have ended
        REQUIRE(counted.fits(1, 100, 3));
        counted.sent(work, 1, 100);
        counted.end(work, 7, 3);
    }
    CHECK(counted.fits(1, 35'000, 3));
    CHECK_FALSE(counted.fits(1, 36'000, 3));
    counted.prepare(heard);
    counted.sent(heard, 1, 30'000);
    heard.incoming()[0].arrived = 1;
    counted.end(heard, 8, 3);
    CHECK(counted.fits(1, 35'000, 3));
}
