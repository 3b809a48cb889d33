// SPDX-License-Identifier: BSL-1.0
#include "session/call_of.hpp"
#include "support/catch.hpp"
#include <bough/session/contexts.hpp>

#include <array>
#include <cstdint>
#include <vector>

using bough::contexts;
using test::call_of;

TEST_CASE("contexts: each number is reserved once, and the least free one first") {
    contexts all;
    CHECK_FALSE(all.claim(0)); // the first communicator's
    CHECK(all.reserve() == 1);
    CHECK(all.reserve() == 2);
    CHECK(all.claim(7)); // the others have come further
    CHECK_FALSE(all.claim(7));
    CHECK_FALSE(all.claim(2));
    CHECK(all.reserve() == 3);
    CHECK(all.reserve(7) == 8); // not less than that
    all.give_back(2);
    CHECK(all.reserve() == 2);
    CHECK(all.reserve() == 4);
    all.clear();
    CHECK(all.reserve() == 1);
}

TEST_CASE("contexts: 65,534 communicators besides the first") {
    contexts all;
    std::uint32_t made = 0;
    while (all.reserve() != contexts::none) ++made;
    CHECK(made == 65'534);
    CHECK(all.reserve() == contexts::none);
    all.give_back(40'000);
    CHECK(all.reserve() == 40'000);
}

TEST_CASE("contexts: each counts for itself, and a number from afar makes nothing") {
    contexts all;
    CHECK_FALSE(all.was_started(call_of(60'000, 1)));
    all.start(call_of(5, 3));
    all.start(call_of(0, 9));
    CHECK(all.was_started(call_of(5, 3)));
    CHECK_FALSE(all.was_started(call_of(5, 4)));
    CHECK(all.was_started(call_of(0, 4)));
    CHECK_FALSE(all.was_started(call_of(4, 1))); // has a place, and has started nothing
    all.start(call_of(5, 0xffff'ffffu));
    CHECK_FALSE(all.was_started(call_of(5, 0))); // counts on from there
    CHECK(all.next_agreement(5) == 1);
    CHECK(all.next_agreement(5) == 2);
    CHECK(all.next_agreement(contexts::none) == 1);
    CHECK(all.next_agreement(0) == 1);
    all.clear();
    CHECK(all.next_agreement(5) == 1);
    CHECK_FALSE(all.was_started(call_of(0, 4)));
}

// The memory of the last epoch is used again. No number beyond the end is looked up in it.
TEST_CASE("contexts: a new epoch knows nothing of the numbers of the last one") {
    using numbers = std::vector<std::uint16_t>;
    const std::array<bough::rank_t, 2> members{4, 0};
    contexts all;
    all.open(6, members);
    all.start(call_of(6, 9));
    all.give_up(call_of(6, 8));
    all.open(7, members);
    REQUIRE_FALSE(all.close(7));
    for (const std::uint16_t before : numbers{0, 5, 6}) { // the last number that has a place
        all.clear();
        all.start(call_of(before, 1));
        for (const std::uint16_t next : numbers{6, 7}) {
            CAPTURE(before, next);
            if (next <= before) continue;
            CHECK_FALSE(all.has_started(next));
            CHECK_FALSE(all.was_started(call_of(next, 9)));
            CHECK_FALSE(all.may_be_late(call_of(next, 8)));
            CHECK_FALSE(all.is_closed(next));
            CHECK(all.members(next) == nullptr);
            CHECK(all.first_member(next) == bough::no_rank);
        }
    }
}

TEST_CASE("contexts: a number is free when all members have let it go, in any order") {
    const std::array<bough::rank_t, 3> members{4, 0, 2};
    for (const int when : {0, 1, 2}) { // this rank is the first, the second or the last
        contexts all;
        REQUIRE(all.reserve() == 1);
        if (when == 1) CHECK_FALSE(all.let_go(1)); // before it is open here
        all.open(1, members);
        REQUIRE(all.members(1) != nullptr);
        CHECK(all.members(1)->size() == 3);
        all.start(call_of(1, 9));
        all.give_up(call_of(1, 8));
        CHECK(all.next_agreement(1) == 1);
        if (when == 2) {
            CHECK_FALSE(all.let_go(1));
            CHECK_FALSE(all.let_go(1));
            CHECK(all.reserve() == 2);
            CHECK(all.close(1));
        } else {
            CHECK_FALSE(all.close(1));
            CHECK(all.is_closed(1));
            CHECK(all.members(1) == nullptr);
            if (when == 0) CHECK_FALSE(all.let_go(1));
            CHECK(all.reserve() == 2);
            CHECK(all.let_go(1));
        }
        // Nothing is left of it.
        CHECK_FALSE(all.is_closed(1));
        CHECK(all.reserve() == 1);
        CHECK_FALSE(all.was_started(call_of(1, 1)));
        CHECK_FALSE(all.may_be_late(call_of(1, 1)));
        CHECK(all.next_agreement(1) == 1);
    }
}

TEST_CASE("contexts: a rank alone lets go at once; one that leaves the group keeps its number from others") {
    contexts all;
    const bough::rank_t me = 5;
    REQUIRE(all.reserve() == 1);
    all.open(1, {&me, 1});
    CHECK(all.close(1));
    CHECK(all.reserve() == 1);
    all.open(1, {&me, 1});
    all.leave(1);
    CHECK(all.members(1) == nullptr);
    CHECK_FALSE(all.let_go(1));
    CHECK(all.reserve() == 2);
}

TEST_CASE(
    "contexts: a communicator that was withdrawn is nobody's, and its number stays reserved until it is given back") {
    const std::array<bough::rank_t, 2> members{5, 0};
    contexts all;
    REQUIRE(all.reserve() == 1);
    all.open(1, members);
    all.withdraw(1);
    CHECK(all.members(1) == nullptr);
    CHECK(all.first_member(1) == bough::no_rank);
    CHECK_FALSE(all.is_closed(1));
    CHECK_FALSE(all.claim(1));
    all.give_back(1);
    CHECK(all.reserve() == 1);
    all.open(1, members); // nobody has let it go
    CHECK_FALSE(all.close(1));
    CHECK(all.let_go(1));
}

TEST_CASE("contexts: a member that makes no further call is missing in those that follow") {
    const std::array<bough::rank_t, 3> members{4, 0, 2};
    contexts all;
    const auto gone = [&](const bough::envelope& tag) {
        const auto* end = all.end_before(tag);
        return end == nullptr ? bough::no_rank : end->rank;
    };
    CHECK(gone(call_of(1, 1)) == bough::no_rank);
    all.ends({.context = 1, .rank = 2, .last = 0xffff'ffffu}); // before it is open here
    CHECK_FALSE(all.any_incomplete());
    REQUIRE(all.claim(1));
    all.open(1, members);
    CHECK(all.any_incomplete());
    CHECK(gone(call_of(1, 0xffff'ffffu)) == bough::no_rank);
    CHECK(gone(call_of(1, 0)) == 2); // numbers wrap around
    CHECK(gone(call_of(2, 9)) == bough::no_rank);
    CHECK(all.has_ended(1, 2));
    CHECK_FALSE(all.has_ended(1, 0));
    all.ends({.context = 1, .rank = 0, .last = 0xffff'fff0u}); // made fewer
    all.ends({.context = 1, .rank = 0, .last = 7});            // is heard once
    CHECK(gone(call_of(1, 0xffff'fff0u)) == bough::no_rank);
    CHECK(gone(call_of(1, 0xffff'fff1u)) == 0);
    all.start(call_of(1, 7));
    CHECK(all.latest(1) == 7);
    CHECK(all.latest(2) == 0);
    CHECK_FALSE(all.let_go(1));
    CHECK_FALSE(all.let_go(1));
    CHECK(all.close(1));
    CHECK_FALSE(all.any_incomplete());
    all.open(1, members); // another one: nothing is left
    CHECK_FALSE(all.any_incomplete());
    CHECK(gone(call_of(1, 9)) == bough::no_rank);
    CHECK_FALSE(all.has_ended(1, 2));
    all.ends({.context = 1, .rank = 2, .last = 1});
    CHECK(all.any_incomplete());
    all.end_calls(1); // this rank makes none either; one of its calls may be in flight
    CHECK_FALSE(all.any_incomplete());
    CHECK(gone(call_of(1, 2)) == 2);
    all.clear();
    CHECK(gone(call_of(1, 2)) == bough::no_rank);
}

TEST_CASE("contexts: what may come late is what was given up, and what is older") {
    contexts all;
    CHECK_FALSE(all.may_be_late(call_of(3, 1)));
    all.give_up(call_of(3, 0xffff'fff0u));
    CHECK(all.may_be_late(call_of(3, 0xffff'fff0u)));
    CHECK(all.may_be_late(call_of(3, 0xffff'ff00u)));
    CHECK_FALSE(all.may_be_late(call_of(3, 0xffff'fff1u)));
    CHECK_FALSE(all.may_be_late(call_of(2, 1)));
    all.give_up(call_of(3, 0xffff'ff00u)); // an older one, later
    CHECK(all.may_be_late(call_of(3, 0xffff'fff0u)));
    all.give_up(call_of(3, 2)); // numbers wrap around
    CHECK(all.may_be_late(call_of(3, 0xffff'fff1u)));
    CHECK_FALSE(all.may_be_late(call_of(3, 3)));
}

TEST_CASE("contexts: no two meetings have one number, and none has 0") {
    contexts all;
    CHECK(all.next_meeting() == 1);
    CHECK(all.next_meeting() == 2);
}
