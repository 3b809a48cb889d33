// SPDX-License-Identifier: BSL-1.0
// Data to a rank never overtakes what the session itself has to say to that rank: the name of a call, an agreement.
// The transport of these tests has room when they say so, and notes what it is given.
#include "session/scripted_rank.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/session/session.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using namespace test::scripted_rank;

TEST_CASE("control first: data that starts later waits for a message of the session, and both leave in one poll") {
    rank_0 zero(2);
    zero.noted.room[1] = 0;
    zero.say(1);
    const session_operation& op = zero.to_1(7);
    CHECK_FALSE(op.done());
    CHECK(zero.noted.take().empty());
    zero.noted.room[1] = 9;
    zero.mine.progress();
    CHECK(zero.noted.take() == posts{"c1", "7>1"});
    CHECK(op.done());
}

TEST_CASE("control first: a start sends what waits before its data, and data that has waited before") {
    rank_0 zero(2);
    zero.noted.room[1] = 0;
    zero.say(1);
    const session_operation& early = zero.to_1(6);
    zero.noted.room[1] = 9;
    const session_operation& late = zero.to_1(7);
    CHECK(zero.noted.take() == posts{"c1", "6>1", "7>1"});
    CHECK((early.done() && late.done()));
}

TEST_CASE("control first: data that was refused before the message of the session goes after it, too") {
    rank_0 zero(2);
    zero.noted.room[1] = 0;
    zero.to_1(7);
    zero.say(1);
    zero.noted.room[1] = 1;
    zero.mine.progress();
    CHECK(zero.noted.take() == posts{"c1"});
    zero.noted.room[1] = 1;
    zero.mine.progress();
    CHECK(zero.noted.take() == posts{"7>1"});
}

TEST_CASE("control first: what waits for one rank holds up no data to another") {
    rank_0 zero(3);
    zero.noted.room[1] = 0;
    zero.say(1);
    zero.start(plan_broadcast(fnomial{3}, {.size = 3}), 7);
    zero.mine.progress();
    CHECK(zero.noted.take() == posts{"7>2"});
    zero.noted.room[1] = 9;
    zero.mine.progress();
    CHECK(zero.noted.take() == posts{"c1", "7>1"});
}

TEST_CASE("control first: data keeps its place and its priority while it waits") {
    for (const bool priorities : {false, true}) {
        rank_0 zero(2);
        if (priorities) zero.mine.use_priorities();
        zero.noted.room[1] = 0;
        zero.say(1);
        zero.to_1(5, 1);
        zero.to_1(6, 2);
        for (int i = 0; i != 5; ++i) zero.mine.progress(); // nothing moves up or down meanwhile
        zero.say(1);
        for (int i = 0; i != 5; ++i) zero.mine.progress();
        posts all;
        for (int i = 0; i != 4; ++i) {
            zero.noted.room[1] = 1;
            zero.mine.progress();
            for (std::string& x : zero.noted.take()) all.push_back(std::move(x));
        }
        CHECK(all == (priorities ? posts{"c1", "c1", "6>1", "5>1"} : posts{"c1", "c1", "5>1", "6>1"}));
    }
}

// A rank that sleeps is woken for what the transport has refused. The data was not refused by the transport.
TEST_CASE("control first: whoever sends the message outside of a poll sends the data that waits for it") {
    for (const int how : {0, 1, 2, 3}) {
        CAPTURE(how);
        rank_0 zero(3);
        zero.noted.room[1] = 0;
        zero.say(1);
        zero.to_1(7);
        session_operation& other = zero.start(plan_reduce(fnomial{2}, {.size = 3}), 8);
        zero.mine.progress();
        REQUIRE(zero.noted.take().empty());
        zero.noted.room[1] = 9;
        switch (how) {
        case 0: zero.say(2); break;
        case 1: zero.mine.cancel(other); break;
        case 2: zero.mine.end_calls_of_communicator(0); break;
        case 3: zero.mine.refuse(envelope{}, errc::invalid_argument); break;
        }
        const posts all = zero.noted.take();
        const auto at = [&](const char* what) { return std::find(all.begin(), all.end(), what) - all.begin(); };
        CHECK(at("c1") < at("7>1"));
        CHECK(at("7>1") < std::ptrdiff_t(all.size()));
        zero.mine.progress();
        CHECK(zero.all[0].op.done());
    }
}

TEST_CASE("control first: an operation that runs straight does not overtake a message of the session") {
    rank_0 zero(3);
    // Rank 0 waits for the message of rank 1, and sends then.
    const slice whole{input, 0, 1}, come{output, 0, 1};
    prepared work(bind_steps(std::vector<step>{receive_step(1, come), send_step(1, whole), send_step(2, come)}, 1));
    std::uint64_t in = 1, out = 0;
    session_operation op;
    envelope tag;
    tag.operation = 1;
    const call c{reinterpret_cast<std::byte*>(&in), reinterpret_cast<std::byte*>(&out), 1, sizeof in};
    const call_signature signature{.plan = 5};
    zero.noted.room[2] = 0;
    zero.mine.start(op, work, c, tag, signature, 60'000'000'000);
    REQUIRE_FALSE(op.done());
    zero.say(2);
    zero.noted.room[2] = 0;
    session<endpoint> one(std::move(zero.others[0]));
    prepared sends(bind_steps(std::vector<step>{send_step(0, whole)}, 1));
    session_operation sent;
    one.start(sent, sends, c, tag, signature, 60'000'000'000);
    REQUIRE(sent.done());
    // The room comes just before the operation looks for its message.
    zero.noted.room[2] = 9;
    for (int i = 0; i != 3; ++i) zero.mine.progress();
    const posts all = zero.noted.take();
    CHECK(op.done());
    CHECK(std::find(all.begin(), all.end(), "c2") < std::find(all.begin(), all.end(), "1>2"));
    CHECK(std::find(all.begin(), all.end(), "1>2") != all.end());
}

TEST_CASE("control first: data to a rank that is lost does not wait for what that rank is not told any more") {
    rank_0 zero(3);
    zero.noted.room[1] = 0;
    zero.say(1);
    session_operation& op = zero.to_1(7);
    zero.mine.suspect(1);
    zero.noted.dead = 1;
    for (int i = 0; i != 5; ++i) zero.mine.progress();
    CHECK(op.result().code == errc::peer_dead);
}

TEST_CASE("control first: of many operations that wait for one message, all go on when it has left") {
    for (const std::uint32_t count : {10u, 63u, 64u, 500u}) {
        CAPTURE(count);
        rank_0 zero(2);
        zero.noted.room[1] = 0;
        zero.say(1);
        for (std::uint32_t n = 1; n <= count; ++n) zero.to_1(n);
        for (int i = 0; i != 3; ++i) zero.mine.progress();
        zero.noted.room[1] = 1'000'000;
        for (int i = 0; i != 200; ++i) zero.mine.progress();
        CHECK(zero.mine.outstanding() == 0);
        const posts all = zero.noted.take();
        REQUIRE(all.size() >= count + 1);
        CHECK(all[0] == "c1");
    }
}

TEST_CASE("control first: a transport that takes nothing is asked once for each rank, however many messages wait") {
    rank_0 zero(4);
    for (const rank_t r : {1u, 2u, 3u}) zero.noted.room[r] = 0;
    for (int i = 0; i != 1000; ++i)
        for (const rank_t r : {1u, 3u}) zero.say(r);
    zero.noted.tries = 0;
    zero.mine.progress();
    CHECK(zero.noted.tries == 2);
    zero.to_1(7); // which is not even offered
    CHECK(zero.noted.tries == 4);
    zero.noted.room[1] = zero.noted.room[3] = 1'000'000;
    zero.noted.tries = 0;
    zero.mine.progress();
    CHECK(zero.noted.tries == 2001);
    CHECK(zero.noted.posted.back() == "7>1");
}

// What is told of a failure may be the message of the session that leaves, and the data behind it is older.
TEST_CASE("control first: data goes in the same call when an op that throws has a rank told at last") {
    rank_0 zero(3);
    const std::vector<rank_t> members{0, 1, 2};
    zero.mine.open_communicator(1, members);
    zero.noted.room[1] = zero.noted.room[2] = 0;
    zero.say(1);
    zero.say(2);
    const session_operation& older = zero.to(2, 7);
    // Rank 0 sends, and then combines: only then is there room for messages to rank 2.
    const slice whole{input, 0, 1}, result{output, 0, 1};
    operation throws(bind_steps(std::vector<step>{send_step(1, whole), combine_step(whole, whole, result)}, 1));
    envelope tag;
    tag.operation = 8;
    tag.context = 1;
    call c;
    c.input = c.output = reinterpret_cast<std::byte*>(&throws.value);
    c.count = 1;
    c.element_bytes = sizeof throws.value;
    c.combine_state = &zero.noted;
    c.combine = [](const void* state, const std::byte*, const std::byte*, std::byte*, std::size_t) {
        const_cast<book*>(static_cast<const book*>(state))->room[2] = 9;
        throw 1;
    };
    zero.mine.start(throws.op, throws.work, c, tag, {.plan = 3}, 60'000'000'000);
    REQUIRE_FALSE((older.done() || throws.op.done()));
    zero.noted.take();
    zero.noted.room[1] = 9;
    zero.say(1);
    CHECK(throws.op.result().code == errc::op_threw);
    CHECK(older.done());
    CHECK(zero.noted.posted.back() == "7>2");
}
