// SPDX-License-Identifier: BSL-1.0
// Calls that differ while no message of them meets another: who waits for long asks, and the others compare.
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/session/inquiry.hpp>
#include <bough/session/session.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>

using namespace bough;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

// A reduction in which everybody sends straight to the root.
auto flat_to(rank_t root, rank_t size) { return plan_reduce(fnomial{size}, {.size = size, .root = root}); }
call_signature of_root(rank_t root) { return {.count = 1, .root = root, .kind = goal::reduce::kind}; }

// A group whose operations have `timeout`, and rank r has started its reduction to roots[r], if that is one.
struct waiting : test::ranks {
    waiting(rank_t size, std::uint64_t timeout) : ranks(size) {
        fill(1);
        for (auto& r : all) r->timeout_ns = timeout;
    }
    void start(rank_t r, rank_t root, std::uint32_t operation = 1) {
        all[r]->start(flat_to(root, static_cast<rank_t>(all.size())), operation, of_root(root));
    }
    void look() {
        settle();
        for (auto& r : all) r->session.check_deadlines();
        settle();
    }
    // Time passes while everybody is idle.
    void pass(std::uint64_t ns) {
        look();
        group.advance_ns(ns);
        look();
    }
    void check_differ(rank_t r, rank_t a, rank_t b) {
        CAPTURE(r);
        status s = all[r]->session.poison(0);
        REQUIRE(s);
        CHECK((s.code == errc::call_mismatch || s.cause == errc::call_mismatch));
        CHECK(s.mismatch == mismatch::root);
        CHECK(s.operation == 1);
        CHECK(((s.mine == a && s.theirs == b) || (s.mine == b && s.theirs == a)));
    }
};

} // namespace

TEST_CASE("inquiry: two roots that wait for each other") {
    waiting group(2, 30 * second);
    for (const rank_t r : {0u, 1u}) group.start(r, r);
    group.pass(200'000'000);
    CHECK_FALSE(group[0].done());
    group.pass(100'000'000);
    for (const rank_t r : {0u, 1u}) {
        REQUIRE(group[r].done());
        CHECK(group[r].result().code != errc::deadline);
        group.check_differ(r, 0, 1);
    }
}

TEST_CASE("inquiry: a short operation asks at half of its time") {
    waiting group(2, 1'000'000);
    for (const rank_t r : {0u, 1u}) group.start(r, r);
    group.pass(600'000);
    for (const rank_t r : {0u, 1u}) group.check_differ(r, 0, 1);
}

TEST_CASE("inquiry: before the call that it is about") {
    for (const bool differs : {true, false}) {
        waiting group(2, 30 * second);
        group.start(0, 0);
        group.pass(300'000'000);
        CHECK_FALSE(group[0].done());
        group.pass(5 * second); // asked once, and rank 1 has every right to be late
        CHECK_FALSE(group[0].session.poison(0));
        CHECK_FALSE(group[1].session.poison(0));
        group.start(1, differs ? 1 : 0);
        group.settle();
        CAPTURE(differs);
        for (const rank_t r : {0u, 1u}) {
            REQUIRE(group[r].done());
            if (differs)
                group.check_differ(r, 0, 1);
            else
                CHECK_FALSE(group[r].result());
        }
        if (!differs) CHECK(group[0].data[0] == 3);
    }
}

TEST_CASE("inquiry: of a call that is complete") {
    for (const bool differs : {true, false}) {
        waiting group(3, 30 * second);
        group.start(1, differs ? 2 : 0); // sends, and is complete; rank 2 does not come
        REQUIRE(group[1].done());
        group.start(0, 0);
        group.pass(300'000'000);
        CAPTURE(differs);
        if (differs) {
            for (const rank_t r : {0u, 1u, 2u}) group.check_differ(r, 0, 2);
        } else {
            for (const rank_t r : {0u, 1u, 2u}) CHECK_FALSE(group[r].session.poison(0));
        }
    }
}

TEST_CASE("inquiry: nothing is known of a call before the latest sixteen; the deadline ends it") {
    for (const std::uint32_t calls : {16u, 17u}) {
        waiting group(8, 30 * second);
        for (std::uint32_t operation = 1; operation <= calls; ++operation) { // each rank keeps what comes too early
            group.start(1, 2 + (operation - 1) % 6, operation);
            group.settle();
        }
        REQUIRE(group[1].done());
        group.start(0, 0);
        group.pass(300'000'000);
        CAPTURE(calls);
        CHECK(group[0].done() == (calls == 16));
        for (int i = 0; i != 80; ++i) group.pass(second / 2);
        REQUIRE(group[0].done());
        CHECK((group[0].result().code == errc::deadline) == (calls == 17));
    }
}

TEST_CASE("inquiry: of a call that this rank has refused") {
    waiting group(2, 30 * second);
    envelope tag;
    tag.operation = 1;
    const std::array<rank_t, 1> nobody{1}; // told to itself alone: as if the notice were still under way
    group[1].session.refuse(tag, errc::no_resources, nobody);
    group.start(0, 0);
    group.pass(300'000'000);
    REQUIRE(group[0].done());
    CHECK((group[0].result().cause == errc::no_resources && group[0].result().peer == 1));
}

TEST_CASE("inquiry: a rank asks for its oldest operation only, and once") {
    waiting group(2, 30 * second);
    test::rank_state& r = group[0];
    r.start(flat_to(0, 2), 1, of_root(0));
    prepared work(bind_plan(flat_to(0, 2), 0));
    session_operation second_one;
    std::array<test::number, 1> x{5};
    auto* bytes = reinterpret_cast<std::byte*>(x.data());
    const any_op sum = make_any_op<test::number>(plus{});
    envelope tag;
    tag.operation = 2;
    call_signature signature = of_root(0);
    signature.plan = work.bound().plan_id;
    r.session.start(second_one, work, {bytes, bytes, 1, sizeof(test::number), sum.function, sum.state}, tag, signature,
                    30 * second);
    for (int i = 0; i != 4; ++i) group.pass(300'000'000);
    // Rank 1 makes another second call. It has been asked for the first only, of which it makes the same.
    group.start(1, 0, 1);
    group.start(1, 1, 2);
    group.settle();
    CHECK_FALSE(second_one.done());
    CHECK_FALSE(group[0].session.poison(0));
    group.pass(300'000'000); // now it is the oldest
    CHECK(second_one.done());
    for (const rank_t i : {0u, 1u}) CHECK(group[i].session.poison(0).mismatch == mismatch::root);
}

namespace {

// A transport that knows why a peer is lost.
class knows_why : public testing::transport_archetype {
public:
    explicit knows_why(testing::transport_archetype end, errc why) : transport_archetype(std::move(end)), why_(why) {}
    std::size_t poll(std::span<event> events) {
        const std::size_t found = transport_archetype::poll(events);
        for (event& e : events.first(found))
            if (e.what == event::kind::lost) e.code = why_;
        return found;
    }

private:
    errc why_;
};

} // namespace

TEST_CASE("session: a peer that is lost for what it sent is not said to be dead") {
    for (const errc why : {errc::ok, errc::peer_dead, errc::protocol_error}) {
        const errc expected = why == errc::ok ? errc::peer_dead : why;
        testing::loop_group group(2);
        session<knows_why> mine(knows_why(group.connect(0), why));
        auto other = std::make_unique<session<testing::transport_archetype>>(group.connect(1));
        prepared work(bind_plan(plan_allreduce(recursive_doubling{}, {.size = 2}), 0));
        std::array<test::number, 1> x{5};
        auto* bytes = reinterpret_cast<std::byte*>(x.data());
        const any_op sum = make_any_op<test::number>(plus{});
        const auto start = [&](session_operation& op, std::uint32_t number) {
            envelope tag;
            tag.operation = number;
            mine.start(op, work, {bytes, bytes, 1, sizeof(test::number), sum.function, sum.state}, tag, {}, second);
        };
        session_operation waits, later;
        start(waits, 1);
        other.reset();
        for (int i = 0; i != 100; ++i) mine.progress();
        REQUIRE(waits.done());
        CHECK(waits.result().code == expected);
        CHECK(waits.result().peer == 1);
        start(later, 2);
        CHECK(later.result().code == errc::group_poisoned);
        CHECK(later.result().cause == expected);
    }
}
