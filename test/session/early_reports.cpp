// SPDX-License-Identifier: BSL-1.0
// A rank asks a peer when it has started a call, and the peer answers when it has.
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/session/early_reports.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;

namespace {

// A rank that keeps all messages of operations as early ones, and hears what is said about them.
struct rank_with_reports : test::parts_of_session {
    rank_with_reports(const testing::loop_group& group, rank_t rank)
        : parts_of_session(group, rank, 2), room(2, {.bytes_per_peer = 200'000, .bytes = 400'000}, true),
          reports(messages, members, room) {
        room.prepare(work);
        room.set_one_order(false);
    }
    // An operation sends this message ahead, and ends.
    void leave_behind(std::uint32_t n, std::size_t bytes, std::uint16_t context = 0) {
        const std::vector<std::byte> payload(bytes);
        envelope call = call_of(n);
        call.context = context;
        call.epoch = members.epoch();
        REQUIRE(transport.post_send(1, call, payload, 0) != posted::failed);
        room.sent(work, 1, bytes, room.at_peer(0));
        room.ended(work, call);
    }
    void look() {
        if (reports.is_due()) reports.look();
    }
    // Handles what has come. Returns how many answers and questions there were.
    int hear() {
        int heard = 0;
        for (int turn = 0; turn != 3; ++turn)
            for (const event& e : polled()) {
                control_message m;
                const bool arrives = e.what == event::kind::arrived;
                if (arrives && e.envelope.segment < detail::inquiry_segment)
                    matched.early().keep(e);
                else if (arrives ? messages.read(matched.early(), e, m) : messages.owns(e) && messages.completed(e, m))
                    reports.heard(m), ++heard;
            }
        return heard;
    }
    void start_call(std::uint32_t n, std::uint16_t context = 0) {
        envelope call = call_of(n);
        call.context = context;
        members.communicators().start(call);
    }
    bool fits(std::uint64_t bytes) const { return room.fits(1, bytes, room.at_peer(0)); }

    prepared work{bind_plan(plan_broadcast(flat{}, {.size = 2}), 0)};
    ahead room;
    detail::early_reports<test::loop_end> reports;
};

} // namespace

TEST_CASE("early_reports: the answer comes when the last call has been started") {
    testing::loop_group group(2);
    rank_with_reports asks(group, 0), answers(group, 1);
    for (std::uint32_t n = 1; n != 4; ++n) asks.leave_behind(n, 7'000);
    CHECK_FALSE(asks.fits(80'000));
    asks.room.refused(1);
    asks.look();
    CHECK_FALSE(asks.reports.is_due());
    CHECK(answers.hear() == 1);
    answers.look();
    CHECK(asks.hear() == 0);
    answers.start_call(2);
    answers.start_call(9, 1); // of another communicator
    answers.look();
    CHECK(asks.hear() == 0);
    answers.start_call(3);
    answers.look();
    CHECK_FALSE(answers.reports.is_due());
    CHECK(asks.hear() == 1);
    CHECK(asks.fits(100'000 - 256));
}

TEST_CASE("early_reports: a later call, or the end of the communicator, will do") {
    for (const bool is_later : {true, false}) {
        testing::loop_group group(2);
        rank_with_reports asks(group, 0), answers(group, 1);
        for (std::uint32_t n = 1; n != 4; ++n) asks.leave_behind(n, 20'000, 1);
        const std::array<rank_t, 2> both{0, 1};
        answers.members.communicators().open(1, both);
        if (is_later)
            answers.start_call(8, 1);
        else
            answers.members.communicators().close(1);
        for (int turn = 0; turn != 3; ++turn) {
            asks.look();
            answers.hear();
            answers.look();
            asks.hear();
        }
        CHECK(asks.fits(100'000 - 256));
    }
}

TEST_CASE("early_reports: a question of a lost rank, or of an epoch that has ended, gets no answer") {
    for (const bool is_lost : {false, true}) {
        testing::loop_group group(2);
        rank_with_reports asks(group, 0), answers(group, 1);
        for (std::uint32_t n = 1; n != 4; ++n) asks.leave_behind(n, 7'000);
        asks.room.refused(1);
        asks.look();
        CHECK(answers.hear() == 1);
        REQUIRE(answers.reports.is_due());
        is_lost ? answers.reports.forget(0) : answers.reports.begin_epoch();
        CHECK_FALSE(answers.reports.is_due());
        answers.start_call(3);
        answers.look();
        CHECK(asks.hear() == 0);
        CHECK_FALSE(asks.fits(80'000));
        asks.reports.begin_epoch();
        CHECK(asks.fits(100'000 - 256));
    }
}

TEST_CASE("early_reports: who asks about an operation has started it") {
    testing::loop_group group(2);
    rank_with_reports zero(group, 0), one(group, 1);
    zero.start_call(5);
    zero.room.ask_about(zero.work, test::parts_of_session::call_of(5), 1);
    zero.look();
    prepared theirs(bind_plan(plan_allreduce(flat{}, {.size = 2}), 1));
    one.room.prepare(theirs);
    one.start_call(5);
    one.room.ask_about(theirs, test::parts_of_session::call_of(5), 0);
    CHECK(one.hear() == 1);
    CHECK(one.room.has_started(theirs, 0)); // without an answer
    one.look();
    CHECK(zero.hear() == 1); // the answer: there was nothing left to be asked
    CHECK(zero.room.has_started(zero.work, 1));
}

TEST_CASE("early_reports: a question about a communicator that is gone is not answered for the next one") {
    testing::loop_group group(2);
    rank_with_reports asks(group, 0), answers(group, 1);
    asks.leave_behind(3, 190'000, 5);
    asks.look();
    REQUIRE(answers.hear() == 1);
    answers.reports.forget_communicator(5);
    CHECK_FALSE(answers.reports.is_due());
    answers.start_call(9, 5);
    answers.look();
    CHECK(asks.hear() == 0);
}
