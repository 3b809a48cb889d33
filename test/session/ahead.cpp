// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/session/ahead.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>

#include <cstdint>
#include <new>
#include <vector>

using namespace bough;

namespace {

prepared to_all(rank_t size) { return prepared(bind_plan(plan_broadcast(flat{}, {.size = size}), 0)); }
constexpr std::uint64_t limit = 100'000; // of a peer: half of it may be ahead
constexpr early_limits limits{.bytes_per_peer = limit, .bytes = 100 * limit};

struct books : ahead {
    explicit books(prepared& work, rank_t size, bool copies = true) : ahead(size, limits, copies) { prepare(work); }
    bool fits(rank_t to, std::uint64_t bytes) const { return ahead::fits(to, bytes, at_peer(kept)); }
    void sent(prepared& work, rank_t to, std::uint64_t bytes) { ahead::sent(work, to, bytes, at_peer(kept)); }
    // Whom it asks, and for what.
    struct asked {
        rank_t peer;
        std::uint64_t limit, least;
        friend bool operator==(const asked&, const asked&) = default;
    };
    std::vector<asked> questions() {
        std::vector<asked> all;
        if (has_to_ask())
            ask([&](rank_t r, std::uint64_t most, std::uint64_t least) { all.push_back({r, most, least}); });
        CHECK_FALSE(has_to_ask());
        return all;
    }
    std::uint64_t kept = 0; // by the transport
};

} // namespace

TEST_CASE("ahead: half of what a peer copies out, from the first message on") {
    prepared work = to_all(4);
    books counted(work, 4);
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
    CHECK_FALSE(counted.has_to_ask());
}

TEST_CASE("ahead: a peer that copies nothing out gets four messages, and no more bytes than others") {
    prepared work = to_all(2);
    books counted(work, 2, false);
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

TEST_CASE("ahead: half of what a transport keeps by itself, however many messages that are") {
    prepared work = to_all(2);
    books counted(work, 2, false);
    counted.kept = 40'000;
    CHECK(counted.fits(1, 19'744));
    CHECK_FALSE(counted.fits(1, 19'745));
    for (int i = 0; i != 78; ++i) {
        CHECK(counted.fits(1, 0));
        counted.sent(work, 1, 0);
    }
    CHECK_FALSE(counted.fits(1, 0));
    counted.kept = 1'000'000; // the peer's session keeps no more than before
    CHECK(counted.fits(1, limit / 2 - 78 * 256 - 256));
    CHECK_FALSE(counted.fits(1, limit / 2 - 78 * 256 - 255));
}

TEST_CASE("ahead: without room for early messages nothing is sent ahead") {
    for (const bool copies : {true, false}) {
        prepared work = to_all(2);
        ahead counted(2, {.bytes = 0}, copies);
        counted.prepare(work);
        CHECK_FALSE(counted.fits(1, 0, counted.at_peer(0)));
        CHECK_FALSE(counted.fits(1, 0, counted.at_peer(1'000'000)));
    }
}

TEST_CASE("ahead: what an operation leaves behind counts until the peer says how much lies there") {
    prepared work = to_all(4);
    books counted(work, 4);
    counted.sent(work, 1, 20'000);
    counted.sent(work, 2, 10'000);
    counted.ended(work);
    CHECK_FALSE(counted.fits(1, 30'000));
    CHECK(counted.fits(2, 39'000));
    CHECK(counted.fits(3, 49'000));
    CHECK_FALSE(counted.has_to_ask()); // it is not half of the bound

    counted.sent(work, 1, 9'000);
    counted.ended(work);
    const std::uint64_t left = 29'000 + 2 * 256;
    CHECK(counted.questions() == std::vector<books::asked>{{1, left / 2, 256}});
    counted.sent(work, 1, 1'000); // after the question
    counted.ended(work);
    counted.refused(1);
    CHECK_FALSE(counted.has_to_ask()); // it has asked
    CHECK_FALSE(counted.fits(1, 20'000));
    counted.told(2, 0); // has not been asked
    CHECK_FALSE(counted.fits(2, 40'000));
    counted.told(1, 5'000);
    CHECK(counted.fits(1, 50'000 - 5'000 - 1'256 - 256));
    CHECK_FALSE(counted.fits(1, 50'000 - 5'000 - 1'256 - 255));
    CHECK_FALSE(counted.has_to_ask());

    counted.refused(1); // asks again, for less
    CHECK(counted.questions() == std::vector<books::asked>{{1, 6'256 / 2, 256}});
    counted.told(1, 0);
    CHECK(counted.fits(1, limit / 2 - 256));
    counted.refused(1);
    CHECK_FALSE(counted.has_to_ask()); // nothing lies there
    counted.refused(3);
    CHECK_FALSE(counted.has_to_ask());

    counted.begin_epoch();
    CHECK(counted.fits(2, 49'000));
}

TEST_CASE("ahead: a question that could not be sent is asked again") {
    prepared work = to_all(2);
    books counted(work, 2);
    counted.sent(work, 1, 49'000);
    counted.ended(work);
    REQUIRE(counted.has_to_ask());
    CHECK_THROWS_AS(counted.ask([](rank_t, std::uint64_t, std::uint64_t) { throw std::bad_alloc(); }), std::bad_alloc);
    CHECK(counted.questions().size() == 1);
}

TEST_CASE("ahead: an operation of which the peer has sent a message leaves nothing behind there") {
    // Rank 1 of a chain receives from rank 0, and sends to rank 2.
    prepared work(bind_plan(plan_allreduce(chain{}, {.size = 3}), 1));
    books counted(work, 3);
    counted.sent(work, 0, 30'000);
    counted.sent(work, 2, 30'000);
    for (auto& channel : work.incoming()) channel.arrived = channel.peer == 0 ? 1 : 0;
    counted.ended(work);
    CHECK(counted.fits(0, 49'000));
    CHECK_FALSE(counted.fits(2, 20'000));
}
