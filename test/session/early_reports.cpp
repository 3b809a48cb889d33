// SPDX-License-Identifier: BSL-1.0
// A rank asks a peer how much of what it has sent lies there, and the peer answers when that is little enough.
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/session/early_reports.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;

namespace {

// A rank that keeps all messages of operations as early ones, and hears what is said about them.
struct rank_with_reports : test::parts_of_session {
    rank_with_reports(const testing::loop_group& group, rank_t rank)
        : parts_of_session(group, rank, 2), room(2, {.bytes_per_peer = 200'000, .bytes = 400'000}, true),
          reports(messages, matched.early(), room) {
        room.prepare(work);
    }
    // An operation sends this message ahead, and ends.
    void leave_behind(std::uint32_t n, std::size_t bytes) {
        const std::vector<std::byte> payload(bytes);
        envelope call = call_of(n);
        call.epoch = members.epoch();
        REQUIRE(transport.post_send(1, call, payload, 0) != posted::failed);
        room.sent(work, 1, bytes, room.at_peer(0));
        room.ended(work);
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
    void use(std::uint32_t n) {
        event e;
        envelope call = call_of(n);
        call.epoch = members.epoch();
        REQUIRE(matched.early().next_of(e, call));
        matched.early().release(e.id);
    }
    bool fits(std::uint64_t bytes) const { return room.fits(1, bytes, room.at_peer(0)); }

    prepared work{bind_plan(plan_broadcast(flat{}, {.size = 2}), 0)};
    ahead room;
    detail::early_reports<test::loop_end> reports;
};

} // namespace

TEST_CASE("early_reports: the answer comes when enough has been used") {
    testing::loop_group group(2);
    rank_with_reports asks(group, 0), answers(group, 1);
    for (std::uint32_t n = 0; n != 3; ++n) asks.leave_behind(n, 20'000);
    CHECK_FALSE(asks.fits(40'000));
    asks.look();
    CHECK_FALSE(asks.reports.is_due());
    CHECK(answers.hear() == 1);
    CHECK(answers.matched.early().bytes_of(0, 0) == 3 * 20'256);
    answers.look();
    CHECK(asks.hear() == 0); // all lies there
    answers.use(0);
    answers.look();
    CHECK(asks.hear() == 0);
    answers.use(2);
    answers.look();
    CHECK_FALSE(answers.reports.is_due());
    CHECK(asks.hear() == 1);
    CHECK(asks.fits(100'000 - 20'256 - 256));
    CHECK_FALSE(asks.fits(100'000 - 20'256 - 255));
}

TEST_CASE("early_reports: the answer comes at once if little lies there") {
    testing::loop_group group(2);
    rank_with_reports asks(group, 0), answers(group, 1);
    for (std::uint32_t n = 0; n != 3; ++n) asks.leave_behind(n, 20'000);
    answers.hear();
    for (std::uint32_t n = 0; n != 3; ++n) answers.use(n);
    asks.look();
    CHECK(answers.hear() == 1);
    CHECK_FALSE(answers.reports.is_due());
    CHECK(asks.hear() == 1);
    CHECK(asks.fits(100'000 - 256));
}

TEST_CASE("early_reports: a question of a lost rank, or of an epoch that has ended, gets no answer") {
    for (const bool is_lost : {false, true}) {
        testing::loop_group group(2);
        rank_with_reports asks(group, 0), answers(group, 1);
        for (std::uint32_t n = 0; n != 3; ++n) asks.leave_behind(n, 20'000);
        asks.look();
        CHECK(answers.hear() == 1);
        REQUIRE(answers.reports.is_due());
        is_lost ? answers.reports.forget(0) : answers.reports.begin_epoch();
        CHECK_FALSE(answers.reports.is_due());
        for (std::uint32_t n = 0; n != 3; ++n) answers.use(n);
        answers.look();
        CHECK(asks.hear() == 0);
        CHECK_FALSE(asks.fits(40'000));
        asks.reports.begin_epoch();
        CHECK(asks.fits(100'000 - 256));
    }
}

TEST_CASE("early_reports: a message of another length is no question") {
    testing::loop_group group(2);
    rank_with_reports answers(group, 1);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{15}, std::size_t{17}}) {
        control_message m{.peer = 0, .bytes = std::vector<std::byte>(bytes, std::byte{1})};
        m.tag.segment = detail::early_question_segment;
        answers.reports.heard(m);
        CHECK_FALSE(answers.reports.is_due());
    }
}
