// SPDX-License-Identifier: BSL-1.0
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/core/config.hpp>
#include <bough/session/engines.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;
using test::parts_of_session;

namespace {

// Broadcasts from rank 0, whose events a test hands on by itself.
struct engines_of : parts_of_session {
    engines_of(const testing::loop_group& group, rank_t rank, rank_t size)
        : parts_of_session(group, rank, size), differing(transport, members, messages, running, failing),
          watching(transport, members, messages, running, matched, failing, differing),
          all(members, running, matched, failing, differing, watching) {}

    void take_in(const event& e) {
        if (e.what == event::kind::complete) return all.completed(e);
        if (session_operation* op = matched.receiver(e))
            all.arrived(*op, e);
        else
            matched.early().keep(e);
    }
    void take_in() {
        for (const event& e : polled()) take_in(e);
    }

    detail::disputes<test::loop_end> differing;
    detail::deadline_watch<test::loop_end> watching;
    detail::engines<test::loop_end> all;
};

} // namespace

TEST_CASE("engines: what has come is used when they go on, and not before") {
    const testing::loop_group group(2);
    engines_of zero(group, 0, 2), one(group, 1, 2);
    zero.start(1);
    session_operation& op = one.start(1);
    one.take_in();
    CHECK(one.polled().empty()); // the message is not taken yet
    one.all.go_on();             // now it is
    CHECK_FALSE(op.done());
    one.take_in();
    CHECK_FALSE(op.done());
    one.all.go_on();
    CHECK(op.done());
    CHECK_FALSE(op.result());
    CHECK(one.running.empty());
}

TEST_CASE("engines: an operation takes in what has come early for it") {
    const testing::loop_group group(2);
    engines_of zero(group, 0, 2), one(group, 1, 2);
    zero.start(1), zero.start(2);
    one.take_in();
    session_operation &first = one.start(1), &second = one.start(2);
    one.all.take_early(second);
    one.take_in(), one.all.go_on();
    CHECK(second.done());
    CHECK_FALSE(first.done());
    one.all.take_early(first);
    one.take_in(), one.all.go_on();
    CHECK(first.done());
    CHECK(one.matched.early().empty());
}

TEST_CASE("engines: a message for which a plan has no step breaks the communicator, an inquiry does not") {
    const testing::loop_group group(2);
    engines_of zero(group, 0, 2), one(group, 1, 2);
    zero.start(1, 200);
    session_operation& op = one.start(1, 200);
    event e = one.polled().at(0);
    SECTION("an inquiry") {
        e.envelope.segment = detail::inquiry_segment;
        one.all.arrived(op, e);
        CHECK_FALSE(op.result());
    }
    SECTION("a message") {
        e.envelope.segment = 9;
        one.all.arrived(op, e);
        CHECK(op.result().code == errc::call_mismatch);
        CHECK(one.failing.poison(0).code == errc::call_mismatch);
    }
    CHECK(zero.polled().at(0).what == event::kind::complete); // it was released
}

TEST_CASE("engines: what comes for an operation that has failed, or whose sender took a message back, is released") {
    const testing::loop_group group(2);
    engines_of zero(group, 0, 2), one(group, 1, 2);
    zero.start(1, 200);
    session_operation& op = one.start(1, 200);
    const event e = one.polled().at(0);
    SECTION("it has failed") { one.failing.fail(op, errc::cancelled); }
    SECTION("taken back") {
        one.failing.taken_back(op, 0);
        CHECK_FALSE(op.done());
    }
    one.all.arrived(op, e);
    one.all.go_on();
    CHECK(zero.polled().at(0).what == event::kind::complete);
}

TEST_CASE(
    "engines: a post that ends with an error fails its operation, a take that the sender took back does not yet") {
    const testing::loop_group group(2);
    engines_of zero(group, 0, 2), one(group, 1, 2);
    zero.start(1, 200);
    session_operation& op = one.start(1, 200);
    one.take_in(), one.all.go_on();
    event e = one.polled().at(0);
    REQUIRE(e.what == event::kind::complete);
    e.peer = 0;
    SECTION("an error") {
        e.code = errc::protocol_error;
        one.all.completed(e);
        CHECK(op.done()); // the transport has nothing of it any more
        CHECK((op.result().code == errc::protocol_error && op.result().peer == 0));
    }
    SECTION("taken back") {
        e.code = errc::peer_aborted;
        one.all.completed(e);
        CHECK_FALSE(op.done());
        CHECK_FALSE(op.result());
        one.failing.lost(0, errc::peer_dead); // that is why
        CHECK(op.done());
        CHECK((op.result().code == errc::peer_dead && op.result().peer == 0));
    }
    SECTION("of an operation that has failed meanwhile") {
        one.failing.fail(op, errc::cancelled);
        CHECK_FALSE(op.done()); // the take is still pending
        one.all.completed(e);
        CHECK(op.done());
        CHECK(op.result().code == errc::cancelled);
    }
}

TEST_CASE("engines: they try again to send what there was no room for") {
    const testing::loop_group group(2, {.slots = 1});
    engines_of zero(group, 0, 2);
    test::loop_end one = group.connect(1);
    session_operation &first = zero.start(1), &second = zero.start(2);
    zero.all.run(first, [](auto&) {}); // it was done from the start
    CHECK(first.done());
    CHECK_FALSE(zero.all.retry());
    CHECK_FALSE(second.done());
    std::vector<event> events(1);
    REQUIRE(one.poll(events) == 1);
    one.release(events[0].id);
    CHECK(zero.all.retry());
    CHECK(second.done());
}

TEST_CASE("engines: no operation ends while its communicator is in dispute") {
    const testing::loop_group group(2);
    engines_of zero(group, 0, 2);
    session_operation& op = zero.start(1);
    envelope theirs = parts_of_session::call_of(1);
    theirs.digest.hash = 5;
    zero.failing.dispute().open({parts_of_session::call_of(1), {}}, theirs, 1, 0);
    zero.all.run(op, [](auto&) {});
    CHECK_FALSE(op.done());
    zero.failing.conclude_dispute();
    CHECK(op.done());
    CHECK(op.result().code == errc::call_mismatch);
}

#if BOUGH_HAS_EXCEPTIONS
TEST_CASE("engines: what throws in an engine fails its operation") {
    const testing::loop_group group(2);
    engines_of one(group, 1, 2);
    session_operation& op = one.start(1);
    one.all.run(op, [](auto&) { throw 1; });
    CHECK(op.done());
    CHECK(op.result().code == errc::op_threw);
}
#endif
