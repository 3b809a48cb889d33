// SPDX-License-Identifier: BSL-1.0
// When all members have let the number of a communicator go, a rank keeps nothing of it: the next one begins anew.
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/session/deadline_watch.hpp>
#include <bough/session/disputes.hpp>
#include <bough/session/late_ranks.hpp>
#include <bough/session/letting_go.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

using namespace bough;

namespace {

constexpr std::array<rank_t, 2> both{0, 1};

// Rank 0 of two. The test says what it hears of rank 1.
struct rank_that_lets_go : test::parts_of_session {
    explicit rank_that_lets_go(const testing::loop_group& group) : parts_of_session(group, 0, 2) {
        running.room().prepare(work);
        for (const std::uint16_t context : {std::uint16_t{1}, std::uint16_t{2}})
            members.communicators().open(context, both);
    }
    static envelope call_in(std::uint16_t context, std::uint32_t number, std::uint32_t segment = 0) {
        envelope call = call_of(number);
        call.context = context;
        call.segment = segment;
        return call;
    }
    static event message(const envelope& of) {
        event e;
        e.what = event::kind::arrived;
        e.peer = 1;
        e.envelope = of;
        return e;
    }
    // Of such a communicator: bytes lie ahead at the peer, a message lies early here, and the peer gives a call up.
    void leave_something(std::uint16_t context) {
        running.room().sent(work, 1, bound().most / 4 - early_message_bytes, bound());
        running.room().ended(work, call_in(context, 4));
        matched.early().keep(message(call_in(context, 5)));
        failing.given_up_by_peer(call_in(context, 6), {.code = errc::cancelled});
    }
    ahead::bound bound() { return running.room().at_peer(0); }
    // How many quarters of what may be ahead at the peer are free.
    int quarters() {
        int free = 0;
        const ahead::bound all = bound();
        while (free != 4 &&
               running.room().fits(1, all.most / 4 * static_cast<unsigned>(free + 1) - early_message_bytes, all))
            ++free;
        return free;
    }
    std::size_t early() {
        return matched.early().count([](const event&) { return true; });
    }
    void peer_lets_go(std::uint16_t context) {
        end.by_peer({.peer = 1, .tag = call_in(context, 9, detail::let_go_segment), .bytes = {}});
    }

    prepared work{bind_plan(plan_broadcast(flat{}, {.size = 2}), 0)};
    detail::disputes<test::loop_end> disputed{transport, members, messages, running, failing};
    detail::deadline_watch<test::loop_end> watch{transport, members, messages, running, matched, failing, disputed};
    detail::late_ranks<test::loop_end> late{transport, messages, running, failing, disputed};
    detail::letting_go<test::loop_end> end{members, messages, matched, failing, disputed, late, watch};
};

} // namespace

TEST_CASE("letting go: what a communicator has left here and at others is forgotten with it, and no more") {
    for (const bool peer_is_first : {false, true}) {
        CAPTURE(peer_is_first);
        const testing::loop_group group(2);
        rank_that_lets_go one(group);
        REQUIRE(one.quarters() == 4);
        one.leave_something(1);
        REQUIRE(one.failing.may_refuse());
        one.leave_something(2);
        CHECK(one.quarters() == 2);
        CHECK(one.early() == 2);
        if (peer_is_first) one.peer_lets_go(1);
        CHECK(one.early() == 2); // one member of two is not all
        if (!peer_is_first) one.end.by_this_rank(1);
        CHECK(one.quarters() == 2);
        CHECK(one.early() == 2);
        peer_is_first ? one.end.by_this_rank(1) : one.peer_lets_go(1);
        CHECK(one.quarters() == 3); // what the other communicator has sent ahead counts on
        CHECK(one.early() == 1);
        CHECK(one.failing.may_refuse());
        if (peer_is_first) one.peer_lets_go(2);
        one.end.by_this_rank(2);
        if (!peer_is_first) one.peer_lets_go(2);
        CHECK(one.quarters() == 4);
        CHECK(one.early() == 0);
        CHECK_FALSE(one.failing.may_refuse());
    }
}
