// SPDX-License-Identifier: BSL-1.0
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/session/failure.hpp>

#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

using namespace bough;
using test::parts_of_session;

namespace {

struct three {
    testing::loop_group group{3};
    parts_of_session zero{group, 0, 3}, one{group, 1, 3}, two{group, 2, 3};
};

} // namespace

TEST_CASE("failure: an error reaches the call, the communicator or the group") {
    for (const errc code : {errc::cancelled, errc::deadline}) {
        CHECK(detail::reach_of({.code = code}) == detail::reach::call);
        CHECK(detail::reach_of({.code = errc::peer_aborted, .cause = code}) == detail::reach::call);
    }
    for (const errc code : {errc::call_mismatch, errc::op_threw, errc::invalid_argument, errc::no_resources})
        CHECK(detail::reach_of({.code = code}) == detail::reach::communicator);
    CHECK(detail::reach_of({.code = errc::peer_dead}) == detail::reach::group);
    CHECK(detail::reach_of({.code = errc::peer_aborted, .cause = errc::peer_dead}) == detail::reach::group);
}

TEST_CASE("failure: a call that is cancelled ends alone, and all others are told once which one, and who") {
    three all;
    session_operation &given_up = all.one.start(1), &goes_on = all.one.start(2);
    all.one.failing.fail(given_up, errc::cancelled);
    CHECK(given_up.done());
    CHECK(given_up.result().code == errc::cancelled);
    CHECK_FALSE(goes_on.result());
    CHECK_FALSE(all.one.failing.poison(0));
    CHECK_FALSE(all.one.failing.may_refuse());
    all.one.failing.given_up_by_peer(parts_of_session::call_of(1), {.code = errc::peer_aborted}); // its echo
    for (parts_of_session* other : {&all.zero, &all.two}) {
        const auto said = other->notices(detail::given_up_segment);
        REQUIRE(said.size() == 1);
        CHECK(said[0].code == errc::peer_aborted);
        CHECK(said[0].cause == errc::cancelled);
        CHECK(said[0].peer == 1);
        CHECK(said[0].operation == 1);
    }
    // Its messages may still come, and those of earlier calls; no later ones.
    CHECK(all.one.members.communicators().may_be_late(parts_of_session::call_of(1)));
    CHECK_FALSE(all.one.members.communicators().may_be_late(parts_of_session::call_of(2)));
}

TEST_CASE("failure: a call that a peer has given up ends here, or when it is made, and others are told, too") {
    for (const bool is_made : {false, true}) {
        three all;
        const envelope call = parts_of_session::call_of(1);
        const status said{.code = errc::peer_aborted, .cause = errc::cancelled, .peer = 2, .operation = 1};
        session_operation later;
        const session_operation* made = &later;
        if (is_made) {
            all.one.members.communicators().start(call);
            made = &all.one.start(1);
        }
        all.one.failing.given_up_by_peer(call, said);
        CHECK(all.one.failing.is_given_up(call) == !is_made);
        if (!is_made) {
            CHECK(all.zero.notices(detail::given_up_segment).empty());
            (void)all.one.start(9);
            all.one.running.prepare(later, all.one.started[0].work, call, 1, {}, 1000);
            REQUIRE(all.one.failing.refuse_start(later));
            CHECK_FALSE(all.one.failing.refuse_start(later)); // once
        }
        CHECK(made->result() == said);
        CHECK(all.zero.notices(detail::given_up_segment).size() == 1);
        CHECK_FALSE(all.one.failing.poison(0));
        // The next call may start.
        all.one.running.prepare(later, all.one.started[0].work, parts_of_session::call_of(10), 1, {}, 1000);
        CHECK_FALSE(all.one.failing.refuse_start(later));
    }
}

TEST_CASE("failure: what peers give up ahead of this rank is bounded, and then the communicator breaks") {
    three all;
    const status said{.code = errc::peer_aborted, .cause = errc::cancelled, .peer = 2};
    for (std::uint32_t n = 1; n <= detail::given_up_calls::most; ++n)
        all.one.failing.given_up_by_peer(parts_of_session::call_of(n), said);
    CHECK_FALSE(all.one.failing.poison(0));
    all.one.failing.given_up_by_peer(parts_of_session::call_of(5000), said);
    CHECK(all.one.failing.poison(0).code == errc::no_resources);
    CHECK_FALSE(all.one.failing.is_given_up(parts_of_session::call_of(1))); // nothing is kept
}

TEST_CASE("failure: what a peer that takes nothing must be told is bounded, too") {
    three all;
    session_operation& op = all.one.start(1);
    const std::array<std::byte, 1> byte{};
    for (std::size_t i = 0; i != std::size_t{3} * 1024 + 40; ++i) // the loop takes some
        all.one.messages.put(0, detail::control_segment, {}, byte);
    all.one.messages.flush();
    REQUIRE(all.one.messages.unsent() >= std::size_t{3} * 1024);
    all.one.failing.fail(op, errc::cancelled);
    CHECK(op.result().code == errc::cancelled);
    CHECK(all.one.failing.poison(0).code == errc::no_resources);
}

TEST_CASE("failure: an operation ends with its error, its communicator is poisoned, and its members are told once") {
    three all;
    session_operation& op = all.one.start(1);
    all.one.failing.fail(op, {.code = errc::op_threw, .operation = 1});
    CHECK(op.done());
    CHECK(op.result().code == errc::op_threw);
    CHECK(all.one.failing.poison(0).code == errc::op_threw);
    CHECK_FALSE(all.one.failing.poison(1));
    CHECK_FALSE(all.one.failing.poison());
    CHECK(all.one.running.empty());
    CHECK_FALSE(all.one.failing.has_to_tell());
    all.one.failing.fail(op, {.code = errc::deadline}); // it has failed
    all.one.failing.break_communicator(0, {.code = errc::call_mismatch});
    CHECK(op.result().code == errc::op_threw);
    CHECK(all.one.failing.poison(0).code == errc::op_threw); // the first one is kept
    for (parts_of_session* other : {&all.zero, &all.two}) {
        const auto said = other->notices(detail::broken_segment);
        REQUIRE(said.size() == 1);
        CHECK(said[0].code == errc::peer_aborted);
        CHECK(said[0].cause == errc::op_threw);
        CHECK(said[0].peer == 1);
        CHECK(said[0].operation == 1);
        CHECK(said[0].context == 0);
    }
}

TEST_CASE("failure: a communicator breaks without its siblings, and only its members are told") {
    const testing::loop_group group(4);
    std::array<parts_of_session, 4> all{{{group, 0, 4}, {group, 1, 4}, {group, 2, 4}, {group, 3, 4}}};
    const std::array<rank_t, 3> members{1, 2, 3};
    all[1].members.lose(3, errc::peer_dead);
    all[1].members.communicators().open(2, members);
    session_operation& sibling = all[1].start(1);
    all[1].failing.break_communicator(2, {.code = errc::call_mismatch, .peer = 2, .operation = 9});
    CHECK_FALSE(sibling.result());
    CHECK(all[1].failing.poison(2).code == errc::call_mismatch);
    CHECK_FALSE(all[1].failing.poison(0));
    for (const rank_t r : {0u, 2u, 3u}) CHECK(all[r].notices(detail::broken_segment).size() == (r == 2 ? 1u : 0u));
    session_operation later;
    envelope call = parts_of_session::call_of(2);
    all[1].running.prepare(later, all[1].started[0].work, call, 1, {}, 1000);
    CHECK_FALSE(all[1].failing.refuse_start(later));
    call.context = 2;
    all[1].running.prepare(later, all[1].started[0].work, call, 1, {}, 1000);
    REQUIRE(all[1].failing.refuse_start(later));
    CHECK(later.result().code == errc::group_poisoned);
    CHECK(later.result().cause == errc::call_mismatch);
    all[1].failing.forget(2); // all members have let it go
    CHECK_FALSE(all[1].failing.poison(2));
    CHECK_FALSE(all[1].failing.may_refuse());
}

TEST_CASE("failure: a broken group ends all operations, and refuses every call") {
    three all;
    session_operation &first = all.one.start(1), &second = all.one.start(2);
    all.one.failing.break_group({.code = errc::peer_aborted, .cause = errc::deadline, .peer = 2});
    for (const session_operation* op : {&first, &second}) {
        CHECK(op->done());
        CHECK(op->result().code == errc::peer_aborted);
        CHECK(op->result().cause == errc::deadline);
    }
    session_operation later;
    prepared& work = all.one.started[0].work;
    all.one.running.prepare(later, work, parts_of_session::call_of(3), 1, {}, 1000);
    REQUIRE(all.one.failing.refuse_start(later));
    CHECK(later.result().code == errc::group_poisoned);
    CHECK(later.result().cause == errc::deadline);
    all.one.failing.begin_epoch();
    CHECK_FALSE(all.one.failing.poison());
    all.one.running.prepare(later, work, parts_of_session::call_of(4), 2, {}, 1000);
    CHECK_FALSE(all.one.failing.refuse_start(later));
}

TEST_CASE("failure: an operation ends when the transport has given back its bytes, and not before") {
    three all;
    session_operation& op = all.zero.start(1, 500); // two sends that are pending
    all.zero.failing.fail(op, {.code = errc::cancelled});
    CHECK(op.result().code == errc::cancelled);
    CHECK_FALSE(op.done());
    CHECK(all.zero.running.size() == 1);
    int returned = 0;
    for (const event& e : all.zero.polled()) {
        if (all.zero.running.find_post(e.id) != &op) continue;
        CHECK_FALSE(op.done());
        CHECK(e.code == errc::cancelled);
        all.zero.failing.gave_back(op);
        ++returned;
    }
    CHECK(returned == 2);
    CHECK(op.done());
}

TEST_CASE("failure: a loss ends the operations that need the rank, and no others, with its reason") {
    three all;
    session_operation& needs_zero = all.one.start(1);
    session_operation& needs_none = all.zero.start(1, 500);
    all.one.failing.lost(2, errc::peer_dead); // a leaf: rank 1 needs nothing of it
    CHECK_FALSE(needs_zero.done());
    CHECK_FALSE(all.one.failing.poison());
    all.one.failing.lost(0, errc::protocol_error);
    CHECK(needs_zero.done());
    CHECK(needs_zero.result().code == errc::protocol_error);
    CHECK(needs_zero.result().peer == 0);
    CHECK(all.one.failing.poison().peer == 0);
    all.zero.failing.lost(1, errc::peer_dead); // it has sent all that rank 1 needs
    CHECK_FALSE(needs_none.result());
    CHECK_FALSE(all.one.failing.has_to_tell()); // nobody is left to be told
    CHECK(all.two.notices(detail::abort_segment).empty());
}

TEST_CASE("failure: who has taken back a message is the cause as soon as it is lost") {
    three all;
    session_operation& op = all.two.start(1);
    all.two.failing.taken_back(op, 0);
    CHECK_FALSE(op.done()); // its abort or its loss says why
    CHECK_FALSE(all.two.failing.poison());
    event came;
    came.peer = 0;
    came.envelope = parts_of_session::call_of(1);
    REQUIRE(all.two.matched.step_of(op, came) != not_a_step); // it needs no other message of rank 0
    all.two.failing.lost(0, errc::peer_dead);
    CHECK(op.done());
    CHECK(op.result().code == errc::peer_dead);
}

TEST_CASE("failure: a call that this rank has refused breaks its communicator when another rank makes it") {
    three all;
    const envelope call = parts_of_session::call_of(1);
    all.one.failing.refuse(call, errc::invalid_argument, {});
    CHECK(all.one.failing.has_refused(call));
    CHECK_FALSE(all.one.failing.has_refused(parts_of_session::call_of(2)));
    CHECK_FALSE(all.one.failing.poison(0)); // all may have made the same mistake
    all.one.failing.meets_refused(call);
    CHECK(all.one.failing.poison(0).code == errc::invalid_argument);
    CHECK(all.one.failing.poison(0).peer == 1);
}

TEST_CASE("failure: a refusal goes to the members of the communicator alone, or to all ranks if it has all") {
    for (const bool some : {true, false}) {
        const testing::loop_group group(4);
        std::array<parts_of_session, 4> all{{{group, 0, 4}, {group, 1, 4}, {group, 2, 4}, {group, 3, 4}}};
        all[1].members.lose(3, errc::peer_dead);
        const std::array<rank_t, 3> members{1, 2, 3};
        envelope call = parts_of_session::call_of(9);
        call.context = 2;
        all[1].failing.refuse(call, errc::invalid_argument, some ? std::span(members) : std::span<const rank_t>());
        for (const rank_t r : {0u, 1u, 2u, 3u}) {
            CAPTURE(some, r);
            const auto said = all[r].notices(detail::refusal_segment);
            REQUIRE(said.size() == (r == 2 || (r == 0 && !some) ? 1u : 0u));
            for (const status& s : said) {
                CHECK(s.cause == errc::invalid_argument);
                CHECK(s.peer == 1);
                CHECK(s.operation == 9);
                CHECK(s.context == 2);
            }
        }
    }
}

TEST_CASE("failure: a call that a peer has refused ends at once, or when it is made") {
    for (const bool is_made : {false, true}) {
        three all;
        const envelope call = parts_of_session::call_of(1);
        const status said{.code = errc::peer_aborted, .cause = errc::size_overflow, .peer = 2, .operation = 1};
        session_operation made;
        if (is_made) all.one.members.communicators().start(call);
        all.one.failing.refused_by_peer(call, said);
        CHECK(bool(all.one.failing.poison(0)) == is_made);
        (void)all.one.start(9);
        all.one.running.prepare(made, all.one.started[0].work, call, 1, {}, 1000);
        REQUIRE(all.one.failing.refuse_start(made));
        CHECK(made.result().code == (is_made ? errc::group_poisoned : errc::peer_aborted));
        CHECK(made.result().cause == errc::size_overflow);
        CHECK(made.result().peer == 2);
        CHECK(all.one.failing.poison(0));
    }
}

TEST_CASE("failure: an exception of the user's op breaks its communicator, any other the group") {
    three all;
    session_operation &first = all.one.start(1), &second = all.one.start(2), &third = all.two.start(1);
    all.two.failing.guarded(third, [] { throw std::bad_alloc(); });
    CHECK(third.result().code == errc::no_resources);
    CHECK(all.two.failing.poison(0).code == errc::no_resources);
    CHECK_FALSE(all.two.failing.poison());
    all.one.failing.guarded(first, [] { throw std::runtime_error("op"); });
    CHECK(first.result().code == errc::op_threw);
    CHECK(second.result().code == errc::op_threw);
    CHECK(all.one.failing.poison(0).code == errc::op_threw);
    CHECK_FALSE(all.one.failing.poison());
    all.one.failing.sheltered([] { throw std::bad_alloc(); });
    CHECK(all.one.failing.poison().code == errc::no_resources);
}

TEST_CASE("failure: the end of a dispute is that of its communicator") {
    three all;
    session_operation& op = all.one.start(1);
    envelope theirs = parts_of_session::call_of(1);
    theirs.kind = 3;
    detail::made_call mine{parts_of_session::call_of(1), {}};
    all.one.failing.dispute().open(mine, theirs, 2, 0);
    all.one.failing.lost(0, errc::peer_dead);
    CHECK(op.result().code == errc::peer_dead);
    CHECK_FALSE(all.one.failing.dispute().is_open());
    session_operation& other = all.zero.start(1, 500);
    all.zero.failing.dispute().open(mine, theirs, 2, 0);
    all.zero.failing.lost(2, errc::peer_dead); // it was to answer
    CHECK(other.result().code == errc::call_mismatch);
    CHECK(other.result().peer == 2);
}

TEST_CASE("failure: what operations of a broken communicator have sent ahead does not count on") {
    const testing::loop_group group(2);
    test::parts_of_session zero(group, 0, 2);
    zero.start(1);
    zero.running.end_one_order();
    zero.start(2);
    const ahead::bound bound = zero.running.room().at_peer(0);
    const std::uint64_t all = bound.most - early_message_bytes;
    CHECK_FALSE(zero.running.room().fits(1, all, bound));
    zero.failing.break_communicator(0, {.code = errc::op_threw});
    CHECK(zero.running.empty());
    CHECK(zero.running.room().fits(1, all, bound));
}
