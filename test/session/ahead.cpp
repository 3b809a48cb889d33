// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/session/ahead.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
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
    std::uint64_t sent(prepared& work, rank_t to, std::uint64_t bytes) {
        return ahead::sent(work, to, bytes, at_peer(kept));
    }
    void ended(prepared& work, std::uint32_t number, std::uint16_t context = 0) {
        ahead::ended(work, call_of(number, context));
    }
    static envelope call_of(std::uint32_t number, std::uint16_t context = 0) {
        envelope call;
        call.context = context;
        call.operation = number;
        return call;
    }
    // Whom it asks, and for which call.
    struct asked {
        rank_t peer;
        std::uint32_t number;
        std::uint16_t context = 0;
        friend bool operator==(const asked&, const asked&) = default;
    };
    std::vector<asked> questions() {
        std::vector<asked> all;
        if (has_to_ask()) ask([&](rank_t r, const envelope& c) { all.push_back({r, c.operation, c.context}); });
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

TEST_CASE("ahead: what operations leave behind counts until the peer has started the last of them") {
    prepared work = to_all(4);
    books counted(work, 4);
    counted.sent(work, 1, 5'000);
    counted.sent(work, 2, 10'000);
    counted.ended(work, 7);
    CHECK(counted.fits(1, 44'000));
    CHECK_FALSE(counted.fits(1, 45'000));
    CHECK(counted.fits(3, 49'000));
    CHECK_FALSE(counted.has_to_ask()); // it is not a fourth of the bound

    counted.sent(work, 1, 9'000);
    counted.ended(work, 6); // they may end in any order
    CHECK(counted.questions() == std::vector<books::asked>{{1, 7}});
    counted.sent(work, 1, 1'000); // after the question
    counted.ended(work, 8);
    CHECK_FALSE(counted.has_to_ask());
    counted.refused(1);
    CHECK(counted.questions() == std::vector<books::asked>{{1, 8}});
    counted.told(2, books::call_of(7)); // was not asked
    CHECK_FALSE(counted.fits(2, 40'000));
    counted.told(1, books::call_of(9)); // nor for this one
    CHECK_FALSE(counted.fits(1, 35'000));
    counted.told(1, books::call_of(8)); // not in the order of the questions
    CHECK(counted.fits(1, 35'000));
    CHECK_FALSE(counted.fits(1, 36'000));
    counted.told(1, books::call_of(7));
    CHECK(counted.fits(1, limit / 2 - 256));
    counted.refused(1);
    counted.refused(3);
    counted.refused(9);
    CHECK_FALSE(counted.has_to_ask()); // nothing lies there

    counted.begin_epoch();
    CHECK(counted.fits(2, 49'000));
}

TEST_CASE("ahead: each communicator is asked for by itself, and forgotten by itself") {
    prepared work = to_all(3);
    books counted(work, 3);
    for (std::uint32_t n = 1; n != 5; ++n)
        for (std::uint16_t context = 0; context != 3; ++context) {
            counted.sent(work, 1, 1'000);
            counted.ended(work, n, context);
        }
    CHECK_FALSE(counted.has_to_ask());
    counted.refused(1);
    auto all = counted.questions();
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.context < b.context; });
    CHECK(all == std::vector<books::asked>{{1, 4, 0}, {1, 4, 1}, {1, 4, 2}});
    const auto room = [&] { // in thousands
        std::uint64_t fits = 0;
        while (counted.fits(1, (fits + 1) * 1'000)) ++fits;
        return fits;
    };
    CHECK(room() == 34);
    counted.told(1, books::call_of(4, 1));
    CHECK(room() == 39);
    counted.forget(2);
    CHECK(room() == 44);
    counted.told(1, books::call_of(4, 2)); // late
    CHECK(room() == 44);
    counted.told(1, books::call_of(4, 0));
    CHECK(room() == 49);
}

TEST_CASE("ahead: a question that could not be sent is asked again") {
    prepared work = to_all(2);
    books counted(work, 2);
    counted.sent(work, 1, 49'000);
    counted.ended(work, 1);
    REQUIRE(counted.has_to_ask());
    CHECK_THROWS_AS(counted.ask([](rank_t, const envelope&) { throw std::bad_alloc(); }), std::bad_alloc);
    CHECK(counted.questions().size() == 1);
}

TEST_CASE("ahead: an operation of which the peer has sent a message leaves nothing behind there") {
    // Rank 1 of a chain receives from rank 0, and sends to rank 2.
    prepared work(bind_plan(plan_allreduce(chain{}, {.size = 3}), 1));
    books counted(work, 3);
    counted.sent(work, 0, 30'000);
    counted.sent(work, 2, 30'000);
    for (auto& channel : work.incoming()) channel.arrived = channel.peer == 0 ? 1 : 0;
    counted.ended(work, 1);
    CHECK(counted.fits(0, 49'000));
    CHECK_FALSE(counted.fits(2, 20'000));
}

TEST_CASE("ahead: a peer that has said that it has started an operation is sent as much as there is") {
    prepared work = to_all(4), other = to_all(4);
    books counted(work, 4);
    counted.ask_about(work, books::call_of(5), 1); // all start all operations in one order
    CHECK_FALSE(counted.has_noted());
    counted.set_one_order(false);
    CHECK(counted.sent(work, 1, 10'000) == 10'256);
    CHECK(counted.sent(work, 1, 20'000) == 30'512);
    counted.ask_about(work, books::call_of(5), 1);
    counted.ask_about(work, books::call_of(5), 1); // once is enough
    CHECK(counted.questions() == std::vector<books::asked>{{1, 5}});
    CHECK_FALSE(counted.has_started(work, 1));
    CHECK_FALSE(counted.fits(1, 20'000));
    counted.told(2, books::call_of(5)); // another peer, another call, another communicator
    counted.told(1, books::call_of(4));
    counted.told(1, books::call_of(5, 1));
    CHECK_FALSE(counted.has_started(work, 1));
    counted.told(1, books::call_of(5));
    CHECK(counted.has_started(work, 1));
    CHECK_FALSE(counted.has_started(work, 2));
    CHECK(counted.fits(1, 49'000)); // others have the whole room
    CHECK(counted.sent(work, 1, 1'000'000) == 0);
    CHECK(counted.fits(1, 49'000));
    counted.ask_about(work, books::call_of(5), 1); // it is known
    CHECK_FALSE(counted.has_to_ask());
    counted.ended(work, 5);
    CHECK_FALSE(counted.has_noted());
    CHECK(counted.fits(1, 49'000));            // nothing is left behind
    CHECK_FALSE(counted.has_started(work, 1)); // its next run is another operation
}

TEST_CASE("ahead: whoever has heard from a peer in an operation knows that it has started it") {
    prepared work(bind_plan(plan_allreduce(chain{}, {.size = 3}), 1));
    books counted(work, 3);
    counted.sent(work, 0, 30'000);
    counted.sent(work, 2, 30'000);
    CHECK_FALSE(counted.has_started(work, 0));
    for (auto& channel : work.incoming()) channel.arrived = channel.peer == 0 ? 1 : 0;
    counted.review(work, 2);
    CHECK_FALSE(counted.fits(2, 20'000));
    CHECK_FALSE(counted.fits(0, 20'000));
    counted.review(work, 0);
    CHECK(counted.fits(0, 49'000));
    CHECK(counted.has_started(work, 0));
    CHECK_FALSE(counted.has_started(work, 2));
    counted.ended(work, 1);
    CHECK_FALSE(counted.has_noted());
    CHECK_FALSE(counted.fits(2, 20'000)); // left behind
}

TEST_CASE("ahead: of the operations of a communicator, the oldest asks") {
    prepared a = to_all(2), b = to_all(2), c = to_all(2), d = to_all(2);
    books counted(a, 2);
    counted.set_one_order(false);
    counted.ask_about(b, books::call_of(2), 1);
    counted.ask_about(c, books::call_of(3), 1); // the peer starts 2 first
    CHECK(counted.questions() == std::vector<books::asked>{{1, 2}});
    counted.ask_about(a, books::call_of(1), 1); // it may wait for this one
    counted.ask_about(d, books::call_of(3, 1), 1);
    auto asked = counted.questions();
    std::sort(asked.begin(), asked.end(), [](const auto& x, const auto& y) { return x.context < y.context; });
    CHECK(asked == std::vector<books::asked>{{1, 1}, {1, 3, 1}});
    counted.told(1, books::call_of(1));
    counted.told(1, books::call_of(2));
    counted.ask_about(c, books::call_of(3), 1);
    CHECK(counted.questions() == std::vector<books::asked>{{1, 3}});
    counted.ended(c, books::call_of(3).operation); // before the answer
    counted.told(1, books::call_of(3));
    CHECK_FALSE(counted.has_started(c, 1));
    counted.ended(a, 1);
    counted.ended(b, 2);
    counted.ended(d, 3, 1);
    CHECK_FALSE(counted.has_noted());
}

TEST_CASE("ahead: a question about an operation in flight is no batch of what was left behind") {
    prepared work = to_all(2), next = to_all(2);
    books counted(work, 2);
    counted.set_one_order(false);
    counted.ask_about(next, books::call_of(2), 1);
    counted.sent(work, 1, 5'000);
    counted.ended(work, 1);
    counted.ended(next, 2);
    CHECK(counted.fits(1, 44'000));
    CHECK_FALSE(counted.fits(1, 45'000)); // what the first one has left still counts
    counted.refused(1);
    CHECK(counted.questions() == std::vector<books::asked>{{1, 1}});
}
