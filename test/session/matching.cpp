// SPDX-License-Identifier: BSL-1.0
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/session/matching.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;
using test::parts_of_session;

namespace {

event message(rank_t from, std::uint32_t number, std::uint32_t segment = 0, std::uint32_t epoch = 1) {
    event e;
    e.what = event::kind::arrived;
    e.peer = from;
    e.id = 1'000; // the transport knows no such message: there is nothing to release
    e.envelope = parts_of_session::call_of(number);
    e.envelope.segment = segment;
    e.envelope.epoch = epoch;
    return e;
}

} // namespace

TEST_CASE("matching: a message belongs to the operation that it names, whichever is the oldest") {
    const testing::loop_group group(2);
    parts_of_session one(group, 1, 2);
    session_operation &first = one.start(1), &second = one.start(2);
    CHECK(one.matched.receiver(message(0, 1)) == &first);
    CHECK(one.matched.receiver(message(0, 2)) == &second);
    CHECK(one.matched.receiver(message(0, 3)) == nullptr);
    CHECK(one.matched.receiver(message(0, 1, 0, 2)) == nullptr); // another epoch
    CHECK(one.matched.receiver(message(0, 1, detail::inquiry_segment)) == nullptr);
    CHECK(one.matched.receiver(message(0, 1, detail::abort_segment)) == nullptr);
    event other = message(0, 1);
    other.envelope.context = 1; // another communicator
    CHECK(one.matched.receiver(other) == nullptr);
}

TEST_CASE("matching: a channel gives each of its steps once, in their order") {
    const testing::loop_group group(3);
    parts_of_session one(group, 1, 3);
    session_operation& op = one.start(1);
    CHECK(one.matched.step_of(op, message(0, 1, 1)) == not_a_step); // the second before the first
    CHECK(one.matched.step_of(op, message(2, 1, 0)) == not_a_step); // no channel from rank 2
    const std::uint32_t step = one.matched.step_of(op, message(0, 1, 0));
    REQUIRE(step != not_a_step);
    CHECK(one.started[0].work.bound().steps[step].verb == verb::receive);
    CHECK(one.matched.step_of(op, message(0, 1, 0)) == not_a_step); // again
    CHECK(one.matched.step_of(op, message(0, 1, 1)) == not_a_step); // there is no second one
}

TEST_CASE("matching: early messages come out by operation, in the order of their arrival") {
    const testing::loop_group group(2);
    parts_of_session one(group, 1, 2);
    for (const auto& [number, segment] : {std::pair{2u, 0u}, {1u, 0u}, {2u, 1u}})
        one.matched.early().keep(message(0, number, segment));
    one.matched.early().keep(message(0, 2, 0, 2)); // of a later epoch
    const session_operation& op = one.start(2);
    event e;
    REQUIRE(one.matched.next_early(e, op));
    CHECK(e.envelope.segment == 0);
    REQUIRE(one.matched.next_early(e, op));
    CHECK(e.envelope.segment == 1);
    CHECK_FALSE(one.matched.next_early(e, op));
    CHECK(one.matched.early().count([](const event&) { return true; }) == 2);
}

TEST_CASE("matching: messages of later epochs are kept until theirs begins, and of past ones dropped") {
    const testing::loop_group group(2);
    parts_of_session one(group, 1, 2);
    CHECK_FALSE(one.matched.handle_other_epoch(message(0, 1)));
    CHECK(one.matched.handle_other_epoch(message(0, 7, 0, 2)));
    CHECK(one.matched.handle_other_epoch(message(0, 8, 0, 3)));
    CHECK(one.matched.handle_other_epoch(message(0, 1, 0, 0)));
    CHECK(one.matched.stale() == 1);
    one.matched.early().keep(message(0, 2)); // of this epoch
    one.members.begin_epoch();
    std::vector<std::uint32_t> due;
    one.matched.begin_epoch([&](const event& e) {
        due.push_back(e.envelope.operation);
        one.matched.early().keep(e); // its operation has not started
    });
    CHECK(due == std::vector<std::uint32_t>{7});
    CHECK(one.matched.stale() == 2);
    CHECK(one.matched.early().count([](const event&) { return true; }) == 2);
}

TEST_CASE("matching: what a suspect has sent is stale") {
    const testing::loop_group group(3);
    parts_of_session one(group, 1, 3);
    one.matched.early().keep(message(0, 1));
    one.matched.early().keep(message(2, 1));
    one.matched.early().keep(message(2, 2));
    one.matched.drop_early_of(2);
    CHECK(one.matched.stale() == 2);
    CHECK(one.matched.early().count([](const event& e) { return e.peer == 0; }) == 1);
    one.matched.drop(message(2, 3));
    CHECK(one.matched.stale() == 3);
}
