// SPDX-License-Identifier: BSL-1.0
// A deadline names the ranks that did not come, on every rank that reports it, and nobody who only waits.
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/error.hpp>
#include <bough/session/deadline_watch.hpp>
#include <bough/session/session.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using test::number;

namespace {

constexpr std::uint64_t ms = 1'000'000;

// The ranks of a group, some of which are not polled: they do nothing at all.
struct watched : test::ranks {
    explicit watched(rank_t size, std::uint64_t timeout_ns = 16 * ms, std::size_t count = 1,
                     const testing::loop_options& options = {})
        : ranks(size, options) {
        fill(count);
        for (auto& r : all) r->timeout_ns = timeout_ns;
    }
    ~watched() { // so that nobody has anything to send any more, which a session's end would wait for
        stopped.clear();
        look();
    }
    void look() {
        for (bool moved = true; std::exchange(moved, false);)
            for (rank_t r = 0; r != all.size(); ++r)
                if (!stopped.contains(r)) moved |= all[r]->session.progress();
        for (rank_t r = 0; r != all.size(); ++r)
            if (!stopped.contains(r)) all[r]->session.check_deadlines();
    }
    // In steps that are short for operations of 16 ms.
    void pass(std::uint64_t ns, std::uint64_t step_ns = ms) {
        look();
        for (std::uint64_t passed = 0; passed < ns; passed += step_ns) {
            group.advance_ns(step_ns);
            look();
        }
        look();
    }
    // What the ranks that have started something report. All must say the same sentence.
    std::string told(const std::set<rank_t>& by) {
        std::string sentence;
        for (const rank_t r : by) {
            if (!all[r]->done()) return "rank " + std::to_string(r) + " has not ended";
            const std::string mine = message_of(all[r]->result());
            if (!sentence.empty() && mine != sentence) return sentence + " BUT " + mine;
            sentence = mine;
        }
        return sentence;
    }

    std::set<rank_t> stopped;
};

const std::string end = ": the operation did not end by its deadline";

template <class P>
call_signature of(const P& plan) {
    return {.count = 1, .root = plan.root(), .kind = decltype(plan.goal())::kind};
}
// Ranks that must report, if `missing` never comes: those that cannot end without it.
std::set<rank_t> survivors(rank_t size, const std::set<rank_t>& missing) {
    std::set<rank_t> who;
    for (rank_t r = 0; r != size; ++r)
        if (!missing.contains(r)) who.insert(r);
    return who;
}

// f(plan, name) for collectives of this size, each with several roots.
template <class F>
void over_plans(rank_t size, F&& f) {
    f(plan_allreduce(recursive_doubling{}, {.size = size}), "allreduce");
    f(plan_allreduce(fnomial{.degree = 2}, {.size = size}), "allreduce");
    f(plan_allreduce(ring{}, {.size = size, .blocks = size}), "allreduce");
    f(plan_barrier(dissemination{}, {.size = size}), "barrier");
    for (rank_t root = 0; root < size; root += bough_test::all() ? 1 : size / 2 + 1) {
        f(plan_reduce(fnomial{.degree = 2}, {.size = size, .root = root}), "reduce");
        f(plan_reduce(chain{}, {.size = size, .root = root}), "reduce");
        f(plan_broadcast(chain{}, {.size = size, .root = root}), "broadcast");
        f(plan_broadcast(flat{}, {.size = size, .root = root}), "broadcast");
    }
}

// One rank does not come, whichever it is. It is polled (and answers), or is not.
void nobody_else_is_named(rank_t size, std::uint32_t eager_bytes) {
    over_plans(size, [&](const auto& plan, const std::string& name) {
        for (rank_t missing = 0; missing != size; ++missing)
            for (const bool answers : {false, true}) {
                watched group(size, 16 * ms, name == "barrier" ? 0 : size, {.eager_bytes = eager_bytes});
                if (!answers) group.stopped.insert(missing);
                for (const rank_t r : survivors(size, {missing})) group[r].start(plan, 1, of(plan));
                group.pass(20 * ms);
                const std::string who = "rank " + std::to_string(missing);
                const std::string expected = (answers ? who + " has not come to " + name + " #1 (it has made no call)"
                                                      : who + " is missing in " + name + " #1 (it does not answer)") +
                                             end;
                CAPTURE(size, missing, answers, name, plan.root(), eager_bytes);
                std::size_t told = 0;
                for (const rank_t r : survivors(size, {missing})) {
                    REQUIRE(group[r].done());
                    if (!group[r].result()) continue; // it could end without that rank
                    CHECK(message_of(group[r].result()) == expected);
                    CHECK(group[r].result().peer == missing);
                    ++told;
                }
                if (name == "allreduce" || name == "barrier") CHECK(told == size - 1);
            }
    });
}

} // namespace

TEST_CASE("deadline: the rank that does not come is named by all, whatever the plan") {
    for (rank_t size = 2; size <= 9; ++size) nobody_else_is_named(size, 1024);
}

TEST_CASE("deadline: a rank that does not take a long message is named") {
    for (rank_t size = 2; size <= 5; ++size) nobody_else_is_named(size, 0);
}

TEST_CASE("deadline: a root that has done its part and computes is not named") {
    watched group(4);
    const auto plan = plan_broadcast(chain{}, {.size = 4});
    group[0].start(plan, 1, of(plan));
    REQUIRE(group[0].done());
    group.stopped = {0, 1};
    group[2].start(plan, 1, of(plan));
    group[3].start(plan, 1, of(plan));
    group.pass(20 * ms);
    CHECK(group.told({2, 3}) == "rank 1 is missing in broadcast #1 (it does not answer)" + end);
}

TEST_CASE("deadline: two ranks are missing") {
    const auto plan = plan_reduce(flat{}, {.size = 6});
    watched group(6);
    group.stopped = {2, 5};
    for (const rank_t r : {0u, 1u, 3u, 4u}) group[r].start(plan, 1, of(plan));
    group.pass(20 * ms);
    CHECK(group.told({0}) == "ranks 2 and 5 are missing in reduce #1 (rank 2 does not answer)" + end);
    CHECK(group[0].result().missing == 2);
    for (rank_t r = 0; r != 6; ++r) CHECK(is_missing(group[0].result(), r) == (r == 2 || r == 5));
    // Their neighbours know of one each, and tell each other.
    const auto doubling = plan_allreduce(recursive_doubling{}, {.size = 8});
    watched pairs(8);
    pairs.stopped = {2, 5};
    for (const rank_t r : {0u, 1u, 3u, 4u, 6u, 7u}) pairs[r].start(doubling, 1, of(doubling));
    pairs.pass(20 * ms);
    CHECK(pairs.told({0, 1, 3, 4, 6, 7}) == "ranks 2 and 5 are missing in allreduce #1 (rank 2 does not answer)" + end);
}

TEST_CASE("deadline: a rank that started and makes no progress is missing, too") {
    const auto plan = plan_allreduce(fnomial{.degree = 2}, {.size = 7});
    std::size_t reports = 0; // none where a leaf has sent its part, and is needed for no more
    for (rank_t lazy = 0; lazy != 7; ++lazy) {
        watched group(7);
        for (rank_t r = 0; r != 7; ++r) group[r].start(plan, 1, of(plan));
        group.stopped.insert(lazy);
        group.pass(20 * ms);
        CAPTURE(lazy);
        std::set<rank_t> report;
        for (const rank_t r : survivors(7, {lazy}))
            if (group[r].result()) report.insert(r);
        reports += report.size();
        if (!report.empty())
            CHECK(group.told(report) ==
                  "rank " + std::to_string(lazy) + " is missing in allreduce #1 (it does not answer)" + end);
    }
    CHECK(reports > 6);
}

TEST_CASE("deadline: the last call of a rank that does not come is told") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 5});
    const auto before = plan_broadcast(flat{}, {.size = 5});
    watched group(5);
    group.start_all(before, 1, of(before));
    REQUIRE(group.run());
    for (const rank_t r : survivors(5, {3})) group[r].start(plan, 2, of(plan));
    group.pass(20 * ms);
    CHECK(group.told({0, 1, 2, 4}) == "rank 3 has not come to allreduce #2 (its last call was broadcast #1)" + end);
    CHECK(last_call_of(group[0].result()) ==
          last_call{.operation = 1, .collective = goal::broadcast::kind, .absence = absence::not_come});
    // It comes after all.
    group.settle();
    group[3].start(plan, 2, of(plan));
    REQUIRE(group[3].done());
    const status& late = group[3].result();
    CHECK((late.code == errc::peer_aborted && late.cause == errc::deadline && late.peer == 3));
    CHECK(message_of(late) == "this rank, 3, came too late to allreduce #2" + end);
    // The next call is one for all.
    group.start_all(plan, 3, of(plan));
    REQUIRE(group.run());
    for (rank_t r = 0; r != 5; ++r) CHECK(group[r].result() == status{});
}

TEST_CASE("deadline: a rank that waits in an earlier call for the missing one is innocent") {
    const auto down = plan_broadcast(chain{}, {.size = 4, .root = 3}); // 3, 0, 1, 2
    const auto all = plan_allreduce(recursive_doubling{}, {.size = 4});
    watched group(4);
    for (const rank_t r : {0u, 1u, 2u, 3u})
        if (r != 0) group[r].start(down, 1, of(down)); // 3 has sent; 1 and 2 wait for 0
    REQUIRE(group[3].done());
    group.stopped = {0};
    group.look();
    group[3].timeout_ns = 12 * ms; // the first to give up is in the second call
    group[3].start(all, 2, of(all));
    group.pass(20 * ms);
    CHECK(group.told({1, 2, 3}) == "rank 0 is missing in broadcast #1 (it does not answer)" + end);
}

TEST_CASE("deadline: the shortest of different timeouts is told to all in the same words") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 8});
    for (rank_t missing = 0; missing != 8; ++missing)
        for (const bool answers : {false, true}) {
            watched group(8);
            if (!answers) group.stopped.insert(missing);
            for (const rank_t r : survivors(8, {missing})) {
                group[r].timeout_ns = (4 + 5 * r) * ms;
                group[r].start(plan, 1, of(plan));
            }
            group.pass(60 * ms, ms / 8);
            CAPTURE(missing, answers);
            CHECK(group.told(survivors(8, {missing})).find("rank " + std::to_string(missing) + " ") == 0);
        }
}

namespace {

// A call of a second communicator, by hand.
struct other_call {
    other_call(test::rank_state& r, const auto& plan, std::uint16_t context, std::uint32_t operation)
        : work(bind_plan(plan, r.session.rank())) {
        auto* bytes = reinterpret_cast<std::byte*>(&x);
        const any_op sum = make_any_op<number>(op);
        envelope tag;
        tag.context = context;
        tag.operation = operation;
        call_signature signature = of(plan);
        signature.plan = work.bound().plan_id;
        r.session.start(operation_, work, {bytes, bytes, 1, sizeof(number), sum.function, sum.state}, tag, signature,
                        r.timeout_ns);
    }
    const status& result() const { return operation_.result(); }

    number x = 1;
    plus op;
    prepared work;
    session_operation operation_;
};

} // namespace

TEST_CASE("deadline: calls in another order are told with the call that the rank is in") {
    const auto sum = plan_allreduce(recursive_doubling{}, {.size = 2});
    const auto meet = plan_reduce(chain{}, {.size = 2});
    watched group(2);
    group[1].start(sum, 3, of(sum));
    const other_call second(group[0], meet, 2, 1); // waits for rank 1
    group.pass(20 * ms);
    CHECK(group.told({1}) == "rank 0 has not come to allreduce #3 (it is in reduce #1 of communicator 2)" + end);
    CHECK(message_of(second.result()) == message_of(group[1].result()));
}

TEST_CASE("deadline: a missing rank of another communicator holds up those of the first") {
    const auto sum = plan_allreduce(recursive_doubling{}, {.size = 4});
    const auto meet = plan_reduce(chain{}, {.size = 4});
    watched group(4);
    const other_call two(group[2], meet, 7, 5); // waits for rank 3, which does not come
    for (const rank_t r : {0u, 1u}) group[r].start(sum, 1, of(sum));
    group.stopped = {3};
    group.pass(20 * ms);
    CHECK(group.told({0, 1}).find("rank 3 ") == 0);
    CHECK(message_of(two.result()) == group.told({0, 1}));
}

TEST_CASE("deadline: a rank that looks at the clock too late still asks before it reports") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 4});
    watched group(4);
    for (const rank_t r : {0u, 1u, 3u}) group[r].start(plan, 1, of(plan));
    group.stopped = {2};
    group.look();
    group.group.advance_ns(40 * ms); // nobody has looked for long
    group.look();
    CHECK_FALSE(group[0].done());
    group.pass(3 * ms);
    CHECK(group.told({0, 1, 3}) == "rank 2 is missing in allreduce #1 (it does not answer)" + end);
}

TEST_CASE("deadline: of two findings every rank reports the same") {
    using detail::finding;
    const auto found = [](rank_t r, std::uint32_t operation, finding::how_sure sure, absence why) {
        finding f{sure, {.code = errc::deadline, .collective = 2, .peer = r, .operation = operation, .missing = 1}};
        f.report.mine = std::uint64_t{1} << r % 64;
        f.report.theirs = last_call{.absence = why}.packed();
        return f;
    };
    std::vector<finding> all{{}};
    for (const auto sure : {finding::how_sure::unreached, finding::how_sure::out_of_step, finding::how_sure::sure})
        for (const std::uint32_t operation : {4u, 5u})
            for (const rank_t r : {1u, 2u, 63u, 64u, 70u})
                for (const auto why : {absence::silent, absence::not_come})
                    all.push_back(found(r, operation, sure, why));
    for (const finding& a : all) {
        CHECK(both(a, a).report == a.report);
        for (const finding& b : all) {
            CHECK(both(a, b).report == both(b, a).report);
            for (const finding& c : all) CHECK(both(both(a, b), c).report == both(a, both(b, c)).report);
        }
    }
    const status two = both(found(1, 4, finding::how_sure::sure, absence::silent),
                            found(2, 4, finding::how_sure::sure, absence::silent))
                           .settled({});
    CHECK((two.peer == 1 && two.missing == 2 && is_missing(two, 2)));
}

TEST_CASE("deadline: what was proposed for a call that has ended well is forgotten") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 3});
    for (const rank_t next : {0u, 1u}) {
        watched group(3, 160 * ms);
        for (const rank_t r : {0u, 1u}) group[r].start(plan, 1, of(plan));
        group.pass(151 * ms); // they have proposed rank 2
        group[2].start(plan, 1, of(plan));
        group.pass(ms);
        for (rank_t r = 0; r != 3; ++r) REQUIRE((group[r].done() && !group[r].result()));
        // Another one is missing in the next call, which is over before the proposals are too old.
        group.stopped = {next};
        for (const rank_t r : survivors(3, {next})) {
            group[r].timeout_ns = 4 * ms;
            group[r].start(plan, 2, of(plan));
        }
        group.pass(6 * ms, ms / 8);
        CHECK(group.told(survivors(3, {next})) ==
              "rank " + std::to_string(next) + " is missing in allreduce #2 (it does not answer)" + end);
    }
}

TEST_CASE("deadline: nothing is asked before the last quarter of the time") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 4});
    watched group(4);
    for (const rank_t r : {0u, 1u, 2u}) group[r].start(plan, 1, of(plan));
    group.pass(11 * ms);
    group[3].start(plan, 1, of(plan));
    group.pass(ms);
    for (rank_t r = 0; r != 4; ++r) CHECK((group[r].done() && !group[r].result()));
    // One comes while the others look for it already: it was slow, and all is well.
    for (const rank_t r : {0u, 1u, 2u}) group[r].start(plan, 2, of(plan));
    group.pass(15 * ms);
    group[3].start(plan, 2, of(plan));
    group.pass(2 * ms);
    for (rank_t r = 0; r != 4; ++r) CHECK((group[r].done() && !group[r].result()));
    // And what was proposed then is forgotten when another is missing later.
    for (const rank_t r : {0u, 2u, 3u}) group[r].start(plan, 3, of(plan));
    group.stopped = {1};
    group.pass(20 * ms);
    CHECK(group.told({0, 2, 3}) == "rank 1 is missing in allreduce #3 (it does not answer)" + end);
}

TEST_CASE("deadline: an operation that proposed in one call withdraws nothing in the next ones") {
    struct counting : testing::transport_archetype {
        counting(testing::transport_archetype link, std::size_t& control_messages)
            : testing::transport_archetype(std::move(link)), count(&control_messages) {}
        posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
            *count += tag.segment >= bough::detail::inquiry_segment;
            return testing::transport_archetype::post_send(to, tag, bytes, id);
        }
        std::size_t* count;
    };
    std::size_t control_messages = 0;
    testing::loop_group group(2);
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 2});
    struct end {
        session<counting> group;
        prepared work;
        session_operation op{}; // the same in every call
        number value = 1;
        void start(std::uint32_t n) {
            envelope tag;
            tag.operation = n;
            auto* bytes = reinterpret_cast<std::byte*>(&value);
            const call c{bytes, bytes, 1, sizeof value, make_any_op<number>(plus{}).function};
            group.start(op, work, c, tag, of(plan_allreduce(recursive_doubling{}, {.size = 2})), 16 * ms);
        }
    };
    end zero{session<counting>(counting(group.connect(0), control_messages)), prepared(bind_plan(plan, 0))};
    end one{session<counting>(counting(group.connect(1), control_messages)), prepared(bind_plan(plan, 1))};
    const auto run = [&] {
        for (int i = 0; i != 100; ++i) zero.group.progress(), one.group.progress();
        REQUIRE((zero.op.done() && one.op.done()));
        REQUIRE((!zero.op.result() && !one.op.result()));
    };
    zero.start(1);
    for (std::uint64_t passed = 0; passed != 31; ++passed) { // to just before its end
        zero.group.progress();
        zero.group.check_deadlines();
        group.advance_ns(ms / 2);
    }
    one.start(1);
    run();
    const std::size_t before = control_messages;
    CHECK(before >= 3); // questions, a proposal, and that it is withdrawn
    for (std::uint32_t n = 2; n != 20; ++n) {
        one.start(n);
        zero.start(n);
        run();
    }
    CHECK(control_messages == before);
}
