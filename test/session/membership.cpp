// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/membership.hpp>

#include <cstdint>

using namespace bough;
using detail::membership;

namespace {

envelope of_epoch(std::uint32_t epoch) {
    envelope tag;
    tag.epoch = epoch;
    return tag;
}

} // namespace

TEST_CASE("membership: the first reason for a loss is kept, in later epochs too") {
    membership members(2, 4);
    CHECK(members.rank() == 2);
    CHECK(members.size() == 4);
    CHECK_FALSE(members.any_lost());
    for (rank_t r = 0; r != 4; ++r) CHECK_FALSE(members.is_lost(r));
    members.lose(1, errc::protocol_error);
    members.lose(1, errc::peer_dead);
    members.begin_epoch();
    CHECK(members.any_lost());
    CHECK(members.is_lost(1));
    CHECK(members.why_lost(1) == errc::protocol_error);
    CHECK_FALSE(members.is_lost(0));
    CHECK(members.why_lost(0) == errc::ok);
}

TEST_CASE("membership: a message is of this epoch, of the past or of the future") {
    membership members(0, 2);
    const std::uint32_t first = members.epoch();
    CHECK(members.is_of_epoch(of_epoch(first)));
    CHECK(members.is_of_future(of_epoch(first + 1)));
    CHECK(members.is_of_past(of_epoch(first - 1)));
    members.begin_epoch();
    CHECK(members.epoch() == first + 1);
    CHECK(members.is_of_epoch(of_epoch(first + 1)));
    CHECK(members.is_of_past(of_epoch(first)));
    CHECK_FALSE(members.is_of_future(of_epoch(first + 1)));
    CHECK_FALSE(members.is_of_past(of_epoch(first + 1)));
}

TEST_CASE("membership: a transport that takes the place of another one begins in a later epoch") {
    membership members(0, 2);
    CHECK((members.epoch() == 1 && members.first_epoch() == 1));
    members.start_at(7);
    CHECK((members.epoch() == 7 && members.first_epoch() == 7));
    CHECK(members.is_of_past(of_epoch(6)));
    members.begin_epoch();
    CHECK((members.epoch() == 8 && members.first_epoch() == 7));
}

TEST_CASE("membership: in a new epoch communicators count anew") {
    membership members(0, 2);
    envelope call;
    call.operation = 5;
    members.communicators().start(call);
    CHECK(members.communicators().reserve() == 1);
    CHECK(members.communicators().reserve() == 2);
    members.begin_epoch();
    CHECK_FALSE(members.communicators().was_started(call));
    CHECK(members.communicators().reserve() == 1);
}
