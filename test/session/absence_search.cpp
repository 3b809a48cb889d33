// SPDX-License-Identifier: BSL-1.0
// What one rank concludes from answers, without messages: each answer counts for the call that was asked about, a question's
// time begins when it has left, and what cannot be known is said only if nothing else is.
#include "support/catch.hpp"
#include <bough/session/absence_search.hpp>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

using namespace bough;
using detail::absence_search;
using detail::finding;
using detail::rank_set;
using detail::whereabouts;
using place = whereabouts::place;
using how_sure = finding::how_sure;

namespace {

constexpr rank_t size = 4;

envelope call(std::uint16_t context, std::uint32_t operation) {
    envelope e;
    e.context = context;
    e.operation = operation;
    return e;
}
const envelope first = call(1, 7), second = call(2, 3);

rank_set ranks(std::initializer_list<rank_t> all) {
    rank_set made(size);
    for (const rank_t r : all) made.add(r);
    return made;
}

// Rank 0, and what it has asked.
struct searching {
    struct question {
        rank_t to;
        envelope about;
        friend bool operator==(const question&, const question&) = default;
    };

    searching() { search.begin_round(now, 0); }
    auto sender() {
        return [this](rank_t to, const envelope& about) { sent.push_back({to, about}); };
    }
    void ask(const rank_set& who, const envelope& about) {
        search.ask(who, about, sender());
        look();
    }
    void look() {
        search.look_at_departures(now, [this](rank_t r) { return stuck.has(r); });
    }
    void answer(rank_t from, const envelope& about, place at, const envelope& in = {},
                const rank_set& waits = ranks({})) {
        REQUIRE(search.answered(from, about, {at, in, waits}, sender()));
        look();
    }
    finding find(const rank_set& waits, const envelope& in) {
        return search.find(waits, in, 1, now, 100, [&](const envelope&) {
            return whereabouts{place::in_it, in, waits};
        });
    }

    absence_search search{size, 0};
    std::uint64_t now = 1'000;
    std::vector<question> sent;
    rank_set stuck = ranks({});
};

finding guess(rank_t r, how_sure sure, const envelope& in) {
    finding f{sure,
              {.code = errc::deadline, .peer = r, .operation = in.operation, .context = in.context, .missing = 1}};
    f.report.mine = std::uint64_t{1} << r;
    f.report.theirs = last_call{.absence = absence::silent}.packed();
    return f;
}

} // namespace

TEST_CASE("absence search: an answer counts for the call that was asked about") {
    searching s;
    s.ask(ranks({1}), first);
    s.ask(ranks({1}), second); // waits until the first is answered
    CHECK(s.sent == std::vector<searching::question>{{1, first}});
    s.answer(1, first, place::done, first);
    CHECK(s.sent == std::vector<searching::question>{{1, first}, {1, second}});
    CHECK(s.find(ranks({1}), second).sure == how_sure::unreached); // done with the first says nothing of the second
    CHECK_FALSE(s.search.answered(1, first, {place::nowhere, {}, ranks({})}, s.sender()));
    s.answer(1, second, place::nowhere, first);
    CHECK(s.find(ranks({1}), first).sure == how_sure::nothing);
    const finding f = s.find(ranks({1}), second);
    CHECK((f.sure == how_sure::sure && f.report.peer == 1 && f.report.context == 2 && f.report.operation == 3));
    CHECK(last_call_of(f.report) == last_call{.operation = 7, .context = 1, .absence = absence::not_come});
    // Each of them once a round.
    s.ask(ranks({1}), first);
    CHECK(s.sent.size() == 2);
}

TEST_CASE("absence search: a rank that others wait for in two calls is judged in each") {
    searching s;
    s.ask(ranks({1, 2}), first);
    s.answer(1, first, place::done, first);
    s.answer(2, first, place::in_it, second, ranks({1})); // in a call of another communicator, it waits for rank 1
    s.ask(ranks({1}), second);
    s.answer(1, second, place::nowhere, first);
    const finding f = s.find(ranks({1, 2}), first);
    CHECK((f.report.peer == 1 && f.report.context == 2 && f.report.missing == 1));
}

TEST_CASE("absence search: the time of a question begins when it has left") {
    searching s;
    s.stuck = ranks({1});
    s.ask(ranks({1}), first);
    s.now += 1'000;
    s.look();
    CHECK(s.find(ranks({1}), first).sure == how_sure::unreached);
    s.stuck = ranks({});
    s.look();
    s.now += 99;
    CHECK(s.find(ranks({1}), first).sure == how_sure::unreached);
    s.now += 1;
    CHECK(s.find(ranks({1}), first).sure == how_sure::sure);
    s.search.clear();
    CHECK(s.search.round() == 0);
}

TEST_CASE("absence search: a rank that could not be asked may be what those wait for who are out of step") {
    for (const bool is_known : {false, true}) {
        searching s;
        s.ask(ranks({1}), second);
        s.answer(1, second, place::elsewhere, first, ranks({2}));
        s.ask(ranks({2}), first);
        if (is_known) s.answer(2, first, place::elsewhere, second, ranks({1}));
        if (is_known) s.ask(ranks({1}), second);
        const finding f = s.find(ranks({1}), second);
        CAPTURE(is_known);
        CHECK(f.sure == (is_known ? how_sure::out_of_step : how_sure::unreached));
        CHECK(f.report.peer == 2);
        CHECK(f.report.missing == 1);
    }
    // Of two ranks' findings that counts of the rank to which all have answered.
    const finding known = guess(1, how_sure::out_of_step, first), unknown = guess(2, how_sure::unreached, first);
    CHECK(both(known, unknown).report == known.report);
    CHECK(both(unknown, known).report == known.report);
}

TEST_CASE("absence search: answers to old questions make room for new ones") {
    searching s;
    for (std::uint32_t i = 1; i != 1'000; ++i) {
        s.search.begin_round(s.now += 10, 1);
        s.ask(ranks({1}), call(1, i));
        s.answer(1, call(1, i), place::nowhere);
        CHECK(s.find(ranks({1}), call(1, i)).report.operation == i);
    }
    CHECK(s.sent.size() == 999);
}

TEST_CASE("absence search: a proposal counts until it is withdrawn, or too old") {
    const finding one = guess(1, how_sure::sure, first), two = guess(2, how_sure::sure, second);
    const auto any = [](rank_t, const envelope&) { return true; };
    absence_search s(size, 0);
    s.propose(0, first, one, 100, 10);
    s.propose(3, second, two, 200, 10);
    CHECK(s.proposed(10, any).report == one.report); // the earlier call
    CHECK((s.proposers(10, any).has(0) && s.proposers(10, any).has(3) && !s.proposers(10, any).has(1)));
    SECTION("by its time") {
        CHECK(s.proposed(100, any).report == two.report);
        CHECK_FALSE(s.proposers(100, any).has(0));
        CHECK(s.proposed(200, any).sure == how_sure::nothing);
    }
    SECTION("by the rank that made it, for the same call") {
        s.propose(0, second, {}, 0, 20);
        s.propose(3, first, {}, 0, 20);
        CHECK(s.proposed(20, any).report == one.report);
        s.propose(0, first, {}, 0, 20);
        CHECK(s.proposed(20, any).report == two.report);
        CHECK_FALSE(s.proposers(20, any).has(0));
        s.propose(3, second, {}, 0, 20);
        CHECK(s.proposed(20, any).sure == how_sure::nothing);
    }
}

TEST_CASE("absence search: only proposals that count make a finding") {
    const auto of_three = [](rank_t by, const envelope& of) { return by == 3 && same_call(of, second); };
    absence_search s(size, 0);
    s.propose(0, first, guess(1, how_sure::sure, first), 100, 10);
    s.propose(3, second, guess(2, how_sure::sure, second), 100, 10);
    CHECK(s.proposed(10, of_three).report == guess(2, how_sure::sure, second).report);
    CHECK((s.proposers(10, of_three).has(3) && !s.proposers(10, of_three).has(0)));
}

TEST_CASE("absence search: what is known of a communicator is forgotten with it") {
    const auto any = [](rank_t, const envelope&) { return true; };
    searching s;
    s.search.begin_round(1, 1);
    s.ask(ranks({1}), first);
    s.search.propose(0, first, guess(1, how_sure::sure, first), 100, 10);
    s.search.forget(first.context);
    CHECK(s.search.proposed(10, any).sure == how_sure::nothing);
    // The answer to the old question says nothing of the call that has the number now.
    s.ask(ranks({1}), first);
    CHECK(s.sent.size() == 1);
    CHECK_FALSE(s.search.answered(1, first, {place::nowhere, first, {}}, s.sender()));
    CHECK(s.find(ranks({1}), first).sure == how_sure::unreached);
    CHECK(s.sent.size() == 2); // it is asked again
    s.answer(1, first, place::nowhere);
    CHECK(s.find(ranks({1}), first).sure == how_sure::sure);
}

TEST_CASE("absence search: a set that names ranks that there are not asks for nobody and finds nobody") {
    searching s;
    rank_set more = ranks({1});
    more.bytes()[0] |= 0xf0; // 4 to 7, of 4 ranks, as in a message of nonsense
    s.ask(more, first);
    CHECK(s.sent == std::vector<searching::question>{{1, first}});
    CHECK(s.find(more, first).report == guess(1, how_sure::unreached, first).report);
    s.answer(1, first, place::in_it, second, more);
    s.ask(more, second);
    CHECK(s.sent.size() == 2);
    s.answer(1, second, place::in_it, second, more);
    CHECK(s.find(more, first).sure == how_sure::nothing);
}
