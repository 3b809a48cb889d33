// SPDX-License-Identifier: BSL-1.0
// How operations fail: every rank learns of it, with the first cause.
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/deadline.hpp>
#include <bough/session/session.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace bough;
using test::number;

namespace {

const auto doubling = [](rank_t size) { return plan_allreduce(recursive_doubling{}, {.size = size}); };

// An op that throws where it is told to.
struct throws {
    bool now = false;
    number operator()(number a, number b) const {
        if (now) throw std::runtime_error("no");
        return a + b;
    }
};

// After a failure, every later operation fails at once, and says why.
void check_poisoned(test::ranks& group, errc cause) {
    for (auto& r : group.all) {
        if (!r) continue;
        r->start(doubling(static_cast<rank_t>(group.all.size())), 99);
        CHECK(r->done());
        CHECK(r->result().code == errc::group_poisoned);
        CHECK(r->result().cause == cause);
        CHECK(r->result().operation != 0);
    }
}

} // namespace

TEST_CASE("session: different calls are a mismatch on every rank, with both values") {
    struct lie {
        mismatch what;
        call_signature signature;
        std::uint64_t mine, theirs;
    };
    const call_signature honest{.count = 3, .op = 7, .type = 8, .root = 1, .kind = 2};
    const auto changed = [&](auto&& change) {
        call_signature s = honest;
        change(s);
        return s;
    };
    const lie lies[] = {
        {mismatch::collective, changed([](auto& s) { s.kind = 4; }), 2, 4},
        {mismatch::op, changed([](auto& s) { s.op = 70; }), 7, 70},
        {mismatch::type, changed([](auto& s) { s.type = 80; }), 8, 80},
        {mismatch::count, changed([](auto& s) { s.count = std::uint64_t{1} << 40; }), 3, std::uint64_t{1} << 40},
        {mismatch::root, changed([](auto& s) { s.root = 0; }), 1, 0},
        {mismatch::count, changed([](auto& s) { s.count = 4, s.root = 5; }), 3, 4}, // the first of several
    };
    for (const lie& l : lies)
        for (const rank_t liar : {0u, 3u}) {
            test::ranks group(5);
            group.fill(3);
            for (rank_t r = 0; r != 5; ++r) group[r].start(doubling(5), 1, r == liar ? l.signature : honest);
            CAPTURE(static_cast<int>(l.what), liar);
            REQUIRE(group.run());
            int told = 0;
            for (rank_t r = 0; r != 5; ++r) {
                const status& s = group[r].result();
                REQUIRE((s.code == errc::call_mismatch ||
                         (s.code == errc::peer_aborted && s.cause == errc::call_mismatch)));
                CHECK(s.mismatch == l.what);
                CHECK(s.operation == 1);
                const bool as_honest = s.mine == l.mine && s.theirs == l.theirs;
                const bool as_liar = s.mine == l.theirs && s.theirs == l.mine;
                CHECK((as_honest || as_liar));
                told += s.code == errc::call_mismatch;
            }
            CHECK(told >= 1);
            check_poisoned(group, errc::call_mismatch);
        }
}

TEST_CASE("session: different plans are a mismatch on every rank") {
    test::ranks group(6);
    group.fill(3);
    for (rank_t r = 0; r != 6; ++r)
        if (r == 4)
            group[r].start(plan_allreduce(chain{}, {.size = 6}), 1);
        else
            group[r].start(doubling(6), 1);
    REQUIRE(group.run());
    for (rank_t r = 0; r != 6; ++r) {
        const status& s = group[r].result();
        CHECK((s.code == errc::call_mismatch || s.cause == errc::call_mismatch));
        CHECK((s.mismatch == mismatch::plan || s.mismatch == mismatch::segment));
    }
}

// The root of an eager broadcast is done inside start. A message of the same call that it has by then,
// and does not expect, must not be forgotten with it.
TEST_CASE("session: a call that is complete at once is compared with what had come for it") {
    test::ranks group(2);
    group.fill(1);
    const auto from = [](rank_t root) { return plan_broadcast(chain{}, {.size = 2, .root = root}); };
    group[1].start(from(1), 1, {.root = 1});
    CHECK(group[1].done());
    group[0].session.progress(); // the message of rank 1 comes before the call of rank 0
    group[0].start(from(0), 1, {.root = 0});
    REQUIRE(group.run());
    group.settle(); // it asks rank 1 for its root
    group[0].start(doubling(2), 2);
    REQUIRE(group[0].done());
    const status& s = group[0].result();
    CHECK(s.code == errc::group_poisoned);
    CHECK(s.cause == errc::call_mismatch);
    CHECK(s.mismatch == mismatch::root);
    CHECK((s.mine == 0 && s.theirs == 1));
    check_poisoned(group, errc::call_mismatch);
}

TEST_CASE("session: a rank that made one call more finds the others out of step") {
    test::ranks group(3);
    group.fill(1);
    group.start_all(doubling(3), 1);
    REQUIRE(group.run());
    group[0].start(plan_broadcast(chain{}, {.size = 3}), 2);
    CHECK(group[0].done()); // an eager broadcast of the root is done
    for (rank_t r = 0; r != 3; ++r) group[r].start(doubling(3), r == 0 ? 3 : 2, {.kind = 2});
    REQUIRE(group.run());
    for (rank_t r = 0; r != 3; ++r) {
        const status& s = group[r].result();
        CHECK((s.code == errc::call_mismatch || s.cause == errc::call_mismatch));
    }
}

TEST_CASE("session: a deadline passes") {
    test::ranks group(4);
    group.fill(2);
    for (const rank_t r : {0u, 1u, 2u}) group[r].start(doubling(4), 1); // rank 3 does not come
    for (int i = 0; i != 5; ++i) {
        group.settle();
        for (auto& r : group.all) r->session.check_deadlines();
    }
    const bool before = group[0].done() || group[1].done() || group[2].done();
    CHECK_FALSE(before);
    for (int i = 0; i != 40 && !group[1].done(); ++i) { // only rank 1 looks at its clock
        group.group.advance_ns(50'000);
        group[1].session.check_deadlines();
        group.settle();
    }
    for (const rank_t r : {0u, 1u, 2u}) {
        REQUIRE(group[r].done());
        CHECK(group[r].result().code == (r == 1 ? errc::deadline : errc::peer_aborted));
        if (r != 1) CHECK(group[r].result().cause == errc::deadline);
        CHECK((group[r].result().peer == 3 && group[r].result().missing == 1));
    }
    // Rank 3 comes too late: its call ends at once, and says so. The next call is one for all.
    for (auto& r : group.all) CHECK_FALSE(r->session.poison(0));
    group[3].start(doubling(4), 1);
    REQUIRE(group[3].done());
    CHECK(group[3].result().cause == errc::deadline);
    CHECK(last_call_of(group[3].result()).absence == absence::late);
    group.fill(2);
    group.start_all(doubling(4), 2);
    REQUIRE(group.run());
    for (rank_t r = 0; r != 4; ++r) {
        CHECK(group[r].result() == status{});
        CHECK(group[r].data == std::vector<number>(2, 10));
    }
}

TEST_CASE("session: a call that is cancelled ends on all ranks, with who, and no other one does") {
    for (const std::size_t count : {std::size_t{1}, std::size_t{500}})
        for (rank_t who = 0; who != 5; ++who)
            for (rank_t late = 0; late != 5; ++late) { // has not made the call when it is cancelled
                CAPTURE(count, who, late);
                test::ranks group(5);
                group.fill(count);
                for (rank_t r = 0; r != 5; ++r)
                    if (r != late) group[r].start(doubling(5), 1);
                group.settle();
                if (who != late) group[who].session.cancel(group[who].operation());
                group[late].start(doubling(5), 1);
                group[late].session.cancel(group[late].operation());
                REQUIRE(group.run());
                for (rank_t r = 0; r != 5; ++r) {
                    const status& s = group[r].result();
                    if (r == who || (r == late && s.code == errc::cancelled)) {
                        CHECK(s.code == errc::cancelled);
                    } else {
                        CHECK(s.code == errc::peer_aborted);
                        CHECK(s.cause == errc::cancelled);
                        CHECK((s.peer == who || s.peer == late));
                    }
                    CHECK(s.operation == 1);
                }
                for (std::uint32_t n = 2; n != 4; ++n) {
                    group.fill(count);
                    group.start_all(doubling(5), n);
                    REQUIRE(group.run());
                    for (rank_t r = 0; r != 5; ++r) {
                        CHECK(group[r].result() == status{});
                        CHECK(group[r].data == std::vector<number>(count, 15));
                    }
                }
                for (auto& r : group.all) CHECK(r->session.early_bytes() == 0);
            }
}

// Rank 1 refuses call 1 when it makes it. The message of call 2 has come by then, and is of a call that
// it does not refuse.
TEST_CASE("session: while a call waits to be refused, messages of later calls are kept") {
    test::ranks group(2);
    const auto from_0 = plan_broadcast(chain{}, {.size = 2, .root = 0});
    group.fill(1, 5);
    group[0].start(doubling(2), 1);
    group[0].session.cancel(group[0].operation());
    group.settle(); // rank 1 has the notice
    group[0].data.assign(1, 77);
    group[0].start(from_0, 2);
    group.settle(); // and the message
    group[1].start(doubling(2), 1);
    CHECK(group[1].result().cause == errc::cancelled);
    group[1].start(from_0, 2);
    REQUIRE(group.run());
    CHECK_FALSE(group[1].result());
    CHECK(group[1].data[0] == 77);
}

TEST_CASE("session: wait ends by the deadline, alone or not") {
    test::ranks group(2);
    group.fill(1);
    group[0].start(doubling(2), 1);
    group[0].session.wait(group[0].operation()); // the clock of a loop_group is moved by its polls
    CHECK(group[0].result().code == errc::deadline);
}

TEST_CASE("session: no deadline is one, too") {
    test::ranks group(2);
    group.fill(1);
    group[0].timeout_ns = forever;
    group[0].start(doubling(2), 1);
    for (int i = 0; i != 3; ++i) {
        group.group.advance_ns(40'000'000'000);
        group[0].session.check_deadlines();
    }
    CHECK_FALSE(group[0].done());
    group[1].start(doubling(2), 1);
    REQUIRE(group.run());
    CHECK(group[0].result() == status{});
}

TEST_CASE("session: the clock of an operation can begin before anybody looks, and its timeout be changed") {
    test::ranks group(2);
    group.fill(1);
    group[0].start(doubling(2), 1); // 1 ms
    group[0].session.start_clock(group[0].operation());
    group.group.advance_ns(2'000'000);
    // At the deadline it still asks who is missing.
    const auto look_until_end = [&] {
        for (int i = 0; i != 4; ++i) {
            group[0].session.check_deadlines();
            group.group.advance_ns(400'000);
        }
    };
    SECTION("it was on") {
        look_until_end(); // for the first time
        CHECK(group[0].result().code == errc::deadline);
    }
    SECTION("more time from now on") {
        group[0].session.set_timeout_ns(group[0].operation(), 5'000'000);
        group.group.advance_ns(4'000'000);
        group[0].session.check_deadlines();
        CHECK_FALSE(group[0].done());
        group.group.advance_ns(2'000'000);
        look_until_end();
        CHECK(group[0].result().code == errc::deadline);
    }
}

TEST_CASE("session: an operation that has ended cannot be abandoned, and harms nobody") {
    test::ranks group(2);
    group.fill(1);
    const auto up = plan_reduce(chain{}, {.size = 2});
    group[1].start(up, 1);
    REQUIRE(group[1].done());
    group[1].session.abandon(group[1].operation());
    CHECK(group[1].result() == status{});
    CHECK_FALSE(group[1].session.poison());
    group[0].start(up, 1);
    REQUIRE(group.run());
    group[0].session.abandon(group[0].operation());
    CHECK(group[0].result() == status{});
    group.start_all(doubling(2), 2);
    REQUIRE(group.run());
    CHECK(group[0].result() == status{});
    // One that has not: its communicator breaks.
    group[0].start(doubling(2), 3);
    group[0].session.abandon(group[0].operation());
    CHECK(group[0].done());
    CHECK(group[0].result().code == errc::no_resources);
    CHECK(group[0].session.outstanding() == 0);
}

TEST_CASE("session: an abort reaches ranks that would wait for others only") {
    test::ranks group(8);
    group.fill(100);
    // A chain: rank 7 never hears from rank 0 but through all others.
    for (rank_t r = 0; r != 8; ++r)
        group[r].start(plan_broadcast(chain{}, {.size = 8}), 1, {.count = r == 1 ? 7u : 100u});
    REQUIRE(group.run());
    for (rank_t r = 2; r != 8; ++r) {
        CHECK(group[r].result().code == errc::peer_aborted);
        CHECK(group[r].result().mismatch == mismatch::count);
        CHECK(group[r].data == std::vector<number>(100, r + 1));
    }
    group.settle(); // rank 0 had rightly sent everything, and learns of it later
    check_poisoned(group, errc::call_mismatch);
}

TEST_CASE("session: a peer is lost") {
    for (rank_t gone = 0; gone != 4; ++gone)
        for (const std::size_t count : {std::size_t{1}, std::size_t{100}}) {
            test::ranks group(4);
            group.fill(count);
            for (rank_t r = 0; r != 4; ++r)
                if (r != gone) group[r].start(doubling(4), 1);
            group.settle();
            group.lose(gone);
            CAPTURE(gone, count);
            REQUIRE(group.run());
            int dead = 0;
            for (rank_t r = 0; r != 4; ++r) {
                if (r == gone) continue;
                const status& s = group[r].result();
                dead += s.code == errc::peer_dead;
                CHECK((s.code == errc::peer_dead || (s.code == errc::peer_aborted && s.cause == errc::peer_dead)));
                CHECK(s.peer == gone);
                CHECK(group[r].session.is_lost(gone));
            }
            CHECK(dead >= 1);
            group.settle();
            check_poisoned(group, errc::peer_dead);
        }
}

TEST_CASE("session: a peer that is lost after its part does no harm") {
    test::ranks group(3);
    group.fill(1);
    const auto plan = plan_reduce(fnomial{.degree = 3}, {.size = 3});
    group[2].start(plan, 1);
    REQUIRE(group[2].done());
    group.lose(2);
    for (const rank_t r : {0u, 1u}) group[r].start(plan, 1);
    REQUIRE(group.run());
    CHECK(group[0].result() == status{});
    CHECK(group[0].data[0] == 6);
    CHECK_FALSE(group[0].session.poison());
}

TEST_CASE("session: a peer that was lost before the operation began") {
    test::ranks group(3);
    group.fill(1);
    group.lose(2);
    group.settle();
    CHECK_FALSE(group[0].session.poison());            // nobody needed it yet
    const auto up = plan_reduce(chain{}, {.size = 3}); // 2 to 1 to 0
    group[1].start(up, 1);
    CHECK(group[1].done());
    CHECK(group[1].result().code == errc::peer_dead);
    CHECK(group[1].result().peer == 2);
    group[0].start(up, 1);
    REQUIRE(group.run());
    CHECK(group[0].result().code == errc::peer_aborted);
    CHECK(group[0].result().cause == errc::peer_dead);
}

TEST_CASE("session: an op that throws ends the operation everywhere") {
    test::ranks group(5);
    group.fill(2);
    for (rank_t r = 0; r != 5; ++r)
        if (r == 2)
            group[r].start(plan_allreduce(fnomial{.degree = 2}, {.size = 5}), 1, {}, throws{true});
        else
            group[r].start(plan_allreduce(fnomial{.degree = 2}, {.size = 5}), 1);
    REQUIRE(group.run());
    for (rank_t r = 0; r != 5; ++r) {
        CHECK(group[r].result().code == (r == 2 ? errc::op_threw : errc::peer_aborted));
        if (r != 2) CHECK(group[r].result().cause == errc::op_threw);
        if (r != 2) CHECK(group[r].result().peer == 2);
    }
    check_poisoned(group, errc::op_threw);
}

namespace {

// Its senders stop in the middle of their messages: a take ends only when it is cancelled.
struct halting : forwarding_transport<test::link> {
    using forwarding_transport::forwarding_transport;

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        into[0] = std::byte{1}; // something has come
        takes->push_back({handle, id});
        return posted::pending;
    }
    std::size_t poll(std::span<event> events) {
        if (ended.empty()) return inner_.poll(events);
        events[0] = {.what = event::kind::complete, .code = errc::cancelled, .id = ended.back()};
        ended.pop_back();
        return 1;
    }
    errc cancel(std::uint64_t id) {
        const auto mine = std::find_if(takes->begin(), takes->end(), [id](const auto& t) { return t.second == id; });
        if (mine == takes->end()) return inner_.cancel(id);
        inner_.release(mine->first);
        ended.push_back(id);
        takes->erase(mine);
        return errc::ok;
    }

    std::shared_ptr<std::vector<std::pair<std::uint64_t, std::uint64_t>>> takes =
        std::make_shared<std::vector<std::pair<std::uint64_t, std::uint64_t>>>(); // handles and ids under way
    std::vector<std::uint64_t> ended;
};

} // namespace

TEST_CASE("session: senders that stop in the middle: at the deadline the takes are given up, and the memory is free") {
    for (const bool by_caller : {false, true}) {
        constexpr rank_t senders = 3;
        const auto plan = plan_reduce(flat{}, {.size = senders + 1});
        testing::loop_group group(senders + 1);
        halting end(group.connect(0));
        const auto takes = end.takes;
        session<halting> root(std::move(end));
        std::vector<std::unique_ptr<test::rank_state>> others;
        for (rank_t r = 1; r <= senders; ++r) {
            others.push_back(std::make_unique<test::rank_state>(group.connect(r)));
            others.back()->data.assign(1000, r); // more than is sent at once
            others.back()->start(plan, 1);
        }
        prepared work(bind_plan(plan, 0));
        const any_op add = make_any_op<test::number>(plus{});
        std::vector<test::number> data(1000, 1);
        auto* bytes = reinterpret_cast<std::byte*>(data.data());
        envelope tag;
        tag.operation = 1;
        session_operation op;
        root.start(op, work, {bytes, bytes, data.size(), sizeof(test::number), add.function, add.state}, tag,
                   {.plan = work.bound().plan_id}, 1'000'000);
        root.start_clock(op);
        const auto turn = [&] {
            for (int i = 0; i != 50; ++i) {
                root.progress();
                for (auto& r : others) r->session.progress();
            }
        };
        turn();
        REQUIRE(takes->size() == senders);
        CHECK_FALSE(op.done());
        if (by_caller) {
            root.cancel(op);
        } else {
            for (int i = 0; i != 4; ++i) { // it asks twice who is missing, and says what it found
                group.advance_ns(10'000'000);
                root.check_deadlines();
            }
        }
        CHECK(takes->empty());  // nothing writes to its memory any more
        CHECK_FALSE(op.done()); // that they have ended is not told yet
        turn();
        REQUIRE(op.done());
        CHECK(op.result().code == (by_caller ? errc::cancelled : errc::deadline));
        CHECK(root.outstanding() == 0);
        for (auto& r : others) CHECK(r->done());
    }
}

TEST_CASE("session: a refused call, and its cause") {
    const errc why =
        GENERATE(errc::invalid_argument, errc::no_resources, errc::op_threw, errc::size_overflow, errc::unsupported);
    CAPTURE(describe(why));
    test::ranks group(3);
    group.fill(1);
    envelope tag;
    tag.operation = 1;
    SECTION("by all ranks: nothing has happened") {
        for (auto& r : group.all) r->session.refuse(tag, why);
        group.start_all(doubling(3), 2);
        REQUIRE(group.run());
        CHECK(group[1].result() == status{});
        CHECK(group[1].data[0] == 6);
        return;
    }
    SECTION("by one rank, before the others call") {
        group[1].session.refuse(tag, why);
        for (const rank_t r : {0u, 2u}) group[r].start(doubling(3), 1);
    }
    SECTION("by one rank, after the others have called") {
        for (const rank_t r : {0u, 2u}) group[r].start(doubling(3), 1);
        group.settle();
        group[1].session.refuse(tag, why);
    }
    SECTION("by a root from which the others only receive") {
        for (const rank_t r : {0u, 2u}) group[r].start(plan_broadcast(chain{}, {.size = 3, .root = 1}), 1);
        group.settle();
        group[1].session.refuse(tag, why);
    }
    SECTION("by a root, before the others call") {
        group[1].session.refuse(tag, why);
        group.settle();
        for (const rank_t r : {0u, 2u}) group[r].start(plan_broadcast(chain{}, {.size = 3, .root = 1}), 1);
        CHECK((group[0].done() && group[2].done()));
    }
    REQUIRE(group.run());
    group.settle();
    for (const rank_t r : {0u, 2u}) {
        const status& s =
            group[r].result().code == errc::group_poisoned ? group[r].session.poison() : group[r].result();
        CHECK(s.code == errc::peer_aborted);
        CHECK(s.cause == why);
        CHECK(s.operation == 1);
        CHECK(s.peer == 1);
    }
    check_poisoned(group, why);
}

TEST_CASE("session: ranks refuse a call at different times, and go on") {
    test::ranks group(3);
    group.fill(1);
    envelope tag;
    tag.operation = 1;
    for (auto& r : group.all) {
        r->session.refuse(tag, errc::unsupported);
        group.settle(); // the others are told before they come to it
    }
    for (std::uint32_t operation = 2; operation != 100; ++operation) { // many more
        tag.operation = operation;
        for (auto& r : group.all) r->session.refuse(tag, errc::unsupported);
        group.settle();
    }
    group.start_all(doubling(3), 100);
    REQUIRE(group.run());
    for (auto& r : group.all) CHECK(r->result() == status{});
}

TEST_CASE("session: a new epoch begins afresh") {
    test::ranks group(4);
    group.fill(1);
    for (rank_t r = 0; r != 4; ++r) group[r].start(doubling(4), 1, {.count = r == 3 ? 2u : 1u});
    REQUIRE(group.run());
    group.settle();
    for (auto& r : group.all) r->session.begin_epoch();
    group.fill(1);
    group.start_all(doubling(4), 1);
    REQUIRE(group.run());
    for (auto& r : group.all) {
        CHECK(r->result() == status{});
        CHECK(r->data[0] == 10);
        CHECK(r->session.epoch() == 2);
    }
}
