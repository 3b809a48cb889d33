// SPDX-License-Identifier: BSL-1.0
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/core/random.hpp>
#include <bough/session/in_flight.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

using namespace bough;
using test::parts_of_session;

TEST_CASE("in flight: an operation is found by its call and by its posts, until it has ended") {
    const testing::loop_group group(2);
    parts_of_session one(group, 1, 2);
    CHECK(one.running.empty());
    session_operation &first = one.start(1), &second = one.start(2), &third = one.start(3);
    CHECK(one.running.size() == 3);
    for (session_operation* op : {&first, &second, &third}) {
        CHECK_FALSE(op->done());
        CHECK(one.running.find_post(one.running.post_id(*op, 7)) == op);
    }
    CHECK(one.running.find(parts_of_session::call_of(2)) == &second);
    CHECK(one.running.find(parts_of_session::call_of(4)) == nullptr);
    CHECK(one.running.is_oldest(first));
    one.running.remove(second); // not the last: the order of the others stays
    CHECK(second.done());
    CHECK(one.running.find(parts_of_session::call_of(2)) == nullptr);
    CHECK(one.running.find_post(one.running.post_id(second, 0)) == nullptr);
    CHECK(&one.running[0] == &first);
    CHECK(&one.running[1] == &third);
    one.running.remove(first);
    CHECK(one.running.is_oldest(third));
    one.running.remove(third);
    CHECK(one.running.empty());
}

TEST_CASE("in flight: the ids of posts differ between operations, and from those of control messages") {
    const testing::loop_group group(2);
    parts_of_session one(group, 1, 2);
    session_operation &first = one.start(1), &second = one.start(2);
    CHECK(one.running.post_id(first, 0) != one.running.post_id(second, 0));
    CHECK(one.running.post_id(first, 0) != one.running.post_id(first, 1));
    event e;
    e.what = event::kind::complete;
    e.id = one.running.post_id(second, 0xffff'ffff);
    CHECK_FALSE(one.messages.owns(e));
}

TEST_CASE("in flight: a post that is refused is remembered once") {
    const testing::loop_group group(2, {.slots = 1});
    parts_of_session zero(group, 0, 2);
    session_operation& op = zero.start(1); // fills the slot
    CHECK_FALSE(zero.running.was_blocked());
    const std::array<std::byte, 4> bytes{};
    CHECK(zero.running.send(op, 0, 1, 1, bytes) == posted::would_block);
    CHECK(zero.running.was_blocked());
    CHECK_FALSE(zero.running.was_blocked());
}

TEST_CASE("in flight: a post to a lost rank fails, but waits while events are being handled") {
    const testing::loop_group group(2);
    parts_of_session zero(group, 0, 2);
    session_operation& op = zero.start(1);
    { const auto lost = group.connect(1); }
    (void)zero.polled(); // tells the loss
    const std::array<std::byte, 4> bytes{};
    CHECK(zero.running.send(op, 0, 1, 1, bytes) == posted::failed);
    CHECK_FALSE(zero.running.was_blocked());
    zero.running.begin_events();
    CHECK(zero.running.send(op, 0, 1, 1, bytes) == posted::would_block);
    zero.running.end_events();
    CHECK(zero.running.was_blocked());
}

TEST_CASE("in flight: an operation that is not the oldest sends no message that its peer may be unable to keep") {
    const testing::loop_group group(2);
    parts_of_session zero(group, 0, 2);
    session_operation &first = zero.start(1), &second = zero.start(2);
    const std::vector<std::byte> huge(early_limits{}.bytes_per_peer);
    CHECK(zero.running.send(second, 0, 1, 1, huge) == posted::would_block);
    CHECK(zero.running.was_blocked());
    CHECK(zero.running.send(first, 0, 1, 1, huge) == posted::pending);
    zero.running.remove(first);
    CHECK(zero.running.send(second, 0, 1, 1, huge) == posted::pending); // it is the oldest now
}

TEST_CASE("in flight: what an operation sends ahead counts until its peer has used it") {
    const testing::loop_group group(2, {.slots = 16});
    parts_of_session zero(group, 0, 2);
    session_operation &first = zero.start(1), &second = zero.start(2);
    const std::vector<std::byte> part(early_limits{}.bytes_per_peer / 8); // one was sent by start()
    CHECK(zero.running.send(second, 0, 1, 1, part) == posted::pending);
    CHECK(zero.running.send(second, 0, 1, 2, part) == posted::pending);
    CHECK(zero.running.send(second, 0, 1, 3, part) == posted::would_block);
    zero.running.remove(second);
    session_operation& third = zero.start(3);
    CHECK(zero.running.send(third, 0, 1, 1, part) == posted::would_block);
    REQUIRE(zero.running.room().has_to_ask());
    envelope asked;
    zero.running.room().ask([&](rank_t, const envelope& call) { asked = call; });
    CHECK(asked.operation == 2);
    zero.running.room().told(1, asked);
    CHECK(zero.running.send(third, 0, 1, 1, part) == posted::pending);
    CHECK_FALSE(zero.running.is_oldest(third));
    CHECK(zero.running.is_oldest(first));
}

TEST_CASE("in flight: many are found as few are, whatever order they end in") {
    const testing::loop_group group(2, {.slots = 1 << 16});
    parts_of_session zero(group, 0, 2);
    std::vector<session_operation*> started;
    for (std::uint32_t n = 1; n <= 600; ++n) started.push_back(&zero.start(n, 0));
    std::vector<std::uint32_t> order(started.size());
    for (std::uint32_t i = 0; i != order.size(); ++i) order[i] = i * 7 % 600;
    std::vector<bool> ended(started.size(), false);
    std::size_t left = started.size();
    for (const std::uint32_t gone : order) {
        zero.running.remove(*started[gone]);
        ended[gone] = true;
        REQUIRE(zero.running.size() == --left);
        std::size_t place = 0;
        for (std::uint32_t i = 0; i != started.size(); ++i) {
            REQUIRE(zero.running.find(parts_of_session::call_of(i + 1)) == (ended[i] ? nullptr : started[i]));
            REQUIRE(zero.running.find_post(zero.running.post_id(*started[i], 3)) == (ended[i] ? nullptr : started[i]));
            if (!ended[i]) REQUIRE(&zero.running[place++] == started[i]); // in the order of their starts
        }
    }
    CHECK(zero.running.empty());
}

TEST_CASE("in flight: those that start when most of many have ended are found, too") {
    const testing::loop_group group(2, {.slots = 1 << 16});
    const std::uint32_t most = 24;
    for (std::uint32_t left = 0; left != most; ++left) {
        INFO(left << " were left");
        parts_of_session zero(group, 0, 2);
        std::vector<session_operation*> started;
        const auto all_are_found = [&] {
            for (std::uint32_t i = 0; i != started.size(); ++i) {
                session_operation* const here = started[i]->done() ? nullptr : started[i];
                REQUIRE(zero.running.find(parts_of_session::call_of(i + 1)) == here);
                REQUIRE(zero.running.find_post(zero.running.post_id(*started[i], 3)) == here);
            }
        };
        for (std::uint32_t n = 1; n <= most; ++n) started.push_back(&zero.start(n, 0));
        for (std::uint32_t n = 1; n <= most - left; ++n) zero.running.remove(*started[n - 1]);
        for (std::uint32_t n = most + 1; n <= 2 * most; ++n) {
            started.push_back(&zero.start(n, 0));
            all_are_found();
        }
        while (zero.running.size() != 0) {
            zero.running.remove(zero.running[zero.running.size() / 2]);
            all_are_found();
        }
    }
}

TEST_CASE("in flight: a turn comes to all in a few polls, and to the oldest in each") {
    const testing::loop_group group(2, {.slots = 1 << 16});
    parts_of_session zero(group, 0, 2);
    std::map<const session_operation*, int> turns;
    const session_operation* oldest = &zero.start(1, 0);
    for (std::uint32_t n = 2; n <= 300; ++n) zero.start(n, 0);
    const std::array<std::byte, 4> bytes{};
    { const auto lost = group.connect(1); }
    (void)zero.polled();
    zero.running.begin_events();
    CHECK(zero.running.send(zero.started.back().op, 0, 1, 1, bytes) == posted::would_block);
    int polls = 0;
    while (zero.running.was_blocked()) {
        int here = 0;
        zero.running.for_some([&](session_operation& op) { ++turns[&op], ++here; });
        CHECK(here <= 64);
        ++polls;
    }
    CHECK(polls == 5);
    CHECK(turns.size() == 300);
    for (const auto& [op, count] : turns) CHECK(count == (op == oldest ? 6 : 1));
}

TEST_CASE("in flight: all have a turn, also when fewer are left than one poll gives turns to") {
    for (const std::size_t count : {64u, 65u, 70u, 100u, 127u, 128u, 150u}) {
        const testing::loop_group group(2, {.slots = 1 << 16});
        parts_of_session zero(group, 0, 2);
        for (std::size_t i = 1; i <= count; ++i) zero.start(static_cast<std::uint32_t>(i), 0);
        const std::array<std::byte, 4> bytes{};
        { const auto lost = group.connect(1); }
        (void)zero.polled();
        zero.running.begin_events();
        REQUIRE(zero.running.send(zero.running[0], 0, 1, 1, bytes) == posted::would_block);
        for (int polls = 0; polls != 10 && zero.running.was_blocked(); ++polls)
            zero.running.for_some([&](session_operation& op) { zero.running.remove(op); }); // each ends in its turn
        CHECK(zero.running.size() == 0);
        CHECK_FALSE(zero.running.was_blocked()); // nobody tries in vain from now on
    }
}

TEST_CASE("in flight: when one turn ends several operations, the others have theirs all the same") {
    for (const int priority : {0, 1}) {
        const testing::loop_group group(2, {.slots = 1 << 16});
        parts_of_session zero(group, 0, 2);
        session_operation &first = zero.start(1, 0), &second = zero.start(2, 0), &third = zero.start(3, 0);
        if (priority != 0) {
            zero.running.use_priorities(2);
            second.set_priority(priority);
        }
        const std::array<std::byte, 4> bytes{};
        { const auto lost = group.connect(1); }
        (void)zero.polled();
        zero.running.begin_events();
        REQUIRE(zero.running.send(first, 0, 1, 1, bytes) == posted::would_block);
        bool had_third = false;
        for (int polls = 0; polls != 10 && zero.running.was_blocked(); ++polls)
            zero.running.for_some([&](session_operation& op) {
                had_third = had_third || &op == &third;
                if (&op != &second) return;
                zero.running.remove(first); // their communicator breaks
                zero.running.remove(second);
            });
        CHECK(had_third);
        CHECK(zero.running.size() == 1);
    }
}

TEST_CASE("in flight: no turn is lost when operations end or start between two polls") {
    for (const bool oldest_ends : {false, true})
        for (const std::size_t more : {0u, 20u})
            for (const int polls_before : {0, 1}) {
                const testing::loop_group group(2, {.slots = 1 << 16});
                parts_of_session one(group, 1, 2);
                std::uint32_t number = 0;
                for (int i = 0; i != 150; ++i) one.start(++number, 0);
                const std::array<std::byte, 4> bytes{};
                { const auto lost = group.connect(0); }
                (void)one.polled();
                one.running.begin_events();
                // A poll before leaves the next turn in the middle.
                const auto block = [&] {
                    REQUIRE(one.running.send(one.running[0], 0, 0, 1, bytes) == posted::would_block);
                };
                block();
                for (int i = 0; i != polls_before; ++i) {
                    REQUIRE(one.running.was_blocked());
                    one.running.for_some([](session_operation&) {});
                }
                block();
                std::map<const session_operation*, int> turns;
                for (std::size_t i = 0; i != one.running.size(); ++i) turns[&one.running[i]] = 0;
                for (int polls = 0; polls != 20 && one.running.was_blocked(); ++polls) {
                    one.running.for_some([&](session_operation& op) { ++turns[&op]; });
                    if (oldest_ends) one.running.remove(one.running[0]);
                    if (polls == 0)
                        for (std::size_t i = 0; i != more; ++i) one.start(++number, 0);
                }
                for (const auto& [op, count] : turns) CHECK((count != 0 || op->done()));
            }
}

namespace {

// Rank 1, to which nothing can be sent for now: each post is refused.
struct refused_rank {
    testing::loop_group group{2, {.slots = 1 << 16}};
    parts_of_session one{group, 1, 2};
    std::uint32_t number = 0;

    explicit refused_rank(int operations) {
        for (int i = 0; i != operations; ++i) start();
        { const auto lost = group.connect(0); }
        (void)one.polled();
        one.running.begin_events();
    }
    session_operation& start() { return one.start(++number, 0); }
    void block(session_operation& op) {
        const std::array<std::byte, 4> bytes{};
        REQUIRE(one.running.send(op, 0, 0, 1, bytes) == posted::would_block);
    }
};

} // namespace

TEST_CASE("in flight: one refused post makes nobody try in vain for long, however many start and end") {
    refused_rank r(100);
    r.block(r.one.running[0]);
    int polls = 0;
    for (; polls != 50 && r.one.running.was_blocked(); ++polls) {
        r.one.running.for_some([](session_operation&) {});
        for (int i = 0; i != 200; ++i) r.one.running.remove(r.start());
    }
    CHECK(polls <= 3);
}

TEST_CASE("in flight: old operations have turns while many younger ones start and end") {
    refused_rank r(200);
    std::map<const session_operation*, int> turns; // of those that stay blocked
    for (std::size_t i = 0; i != 50; ++i) {
        turns[&r.one.running[i]] = 0;
        r.block(r.one.running[i]);
    }
    for (int polls = 0; polls != 300; ++polls) {
        REQUIRE(r.one.running.was_blocked());
        r.one.running.for_some([&](session_operation& op) {
            if (turns.contains(&op))
                ++turns[&op], r.block(op);
            else
                r.one.running.remove(op);
        });
        while (r.one.running.size() < 200) r.start();
    }
    for (const auto& [op, count] : turns) CHECK(count >= 50);
}

TEST_CASE("in flight: one that starts and is refused in the middle of a round has a turn, too") {
    refused_rank r(150);
    r.block(r.one.running[0]);
    REQUIRE(r.one.running.was_blocked());
    r.one.running.for_some([](session_operation&) {}); // the round is in its middle
    for (int i = 0; i != 50; ++i) r.start();
    const session_operation& last = r.one.running[199];
    r.block(r.one.running[199]);
    bool had_turn = false;
    for (int polls = 0; polls != 20 && r.one.running.was_blocked(); ++polls)
        r.one.running.for_some([&](session_operation& op) { had_turn = had_turn || &op == &last; });
    CHECK(had_turn);
}

TEST_CASE("in flight: whoever was refused has a turn before a session rests, whatever starts and ends") {
    for (std::uint64_t seed = 1; seed != 60; ++seed) {
        detail::split_mix random(seed);
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random.below(n)); };
        refused_rank r(0);
        auto& running = r.one.running;
        const bool has_priorities = below(3) == 0;
        if (has_priorities) running.use_priorities(2);
        std::set<const session_operation*> owed; // refused, and not tried since
        const auto start = [&] {
            session_operation& op = r.start();
            if (has_priorities) op.set_priority(static_cast<int>(below(4)));
        };
        const auto end_any = [&] {
            if (running.size() == 0) return;
            session_operation& op = running[below(running.size())];
            owed.erase(&op);
            running.remove(op);
        };
        std::size_t wanted = 1 + below(200);
        for (int poll = 0; poll != 100; ++poll) {
            if (below(20) == 0) wanted = below(200);
            while (running.size() < wanted) start();
            while (running.size() > wanted) end_any();
            for (std::size_t i = below(8); i != 0; --i) below(2) == 0 ? start() : end_any();
            for (std::size_t i = below(4) == 0 ? below(5) : 0; i != 0 && running.size() != 0; --i) {
                session_operation& op = running[below(running.size())];
                r.block(op);
                owed.insert(&op);
            }
            if (!running.was_blocked()) {
                REQUIRE(owed.empty());
                continue;
            }
            running.for_some([&](session_operation& op) {
                REQUIRE_FALSE(op.done());
                owed.erase(&op);
                const std::size_t what = below(12);
                if (what < 3) running.remove(op);
                for (std::size_t i = what == 3 ? below(5) : 0; i != 0; --i) end_any(); // a communicator breaks
                if (what == 4) r.block(op), owed.insert(&op);
            });
        }
    }
}
