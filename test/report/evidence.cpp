// SPDX-License-Identifier: BSL-1.0
// Recordings that no job has made: each shows one rule by which a recording counts.
#include "report/made_recordings.hpp"
#include "support/catch.hpp"
#include <bough/core/absence.hpp>
#include <bough/core/status.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/diagnosis.hpp>
#include <bough/report/evidence.hpp>
#include <bough/report/read.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using detail::evidence;
using namespace test::made;

namespace {

static_assert(detail::is_before(1, 2) && !detail::is_before(2, 2) && !detail::is_before(2, 1));
static_assert(detail::is_before(0xffff'ffffu, 0) && !detail::is_before(0, 0xffff'ffffu));

// The number of the call in which the rank waits; 0: none.
std::uint32_t waits_in(const evidence& known, rank_t r) {
    const auto at = known.blocked().find(r);
    return at == known.blocked().end() ? 0 : at->second.call->number;
}
std::uint32_t waits_in(const recording& one) {
    const std::vector<recording> all{one};
    return waits_in(evidence(all), one.head.of.rank);
}

} // namespace

TEST_CASE("evidence: a rank waits in its oldest call that has not ended") {
    CHECK(waits_in(of_rank(1, {made_call(1, ended), made_call(2, in_flight), made_call(3, in_flight)})) == 2);
    CHECK(waits_in(of_rank(1, {made_call(1, ended), made_call(2, ended)})) == 0);
    // A call that failed because of others counts: the rank waited in it when the group broke.
    CHECK(waits_in(of_rank(1, {made_call(1, ended), made_call(2, failed, errc::deadline), made_call(3, in_flight)})) ==
          2);
    CHECK(waits_in(of_rank(1, {made_call(1, failed, errc::op_threw), made_call(2, in_flight)})) == 2);
    // What failed before a call that ended well is over.
    CHECK(waits_in(of_rank(1, {made_call(1, failed, errc::deadline), made_call(2, ended), made_call(3, in_flight)})) ==
          3);
}

TEST_CASE("evidence: of two communicators the call that began first is the one in which a rank waits") {
    for (const bool second_first : {false, true}) {
        std::vector<recording> all{of_rank(0, {made_call(4, in_flight)}, 0), of_rank(0, {made_call(3, in_flight)}, 1)};
        if (second_first) std::swap(all[0], all[1]);
        const evidence known(all);
        CHECK(waits_in(known, 0) == 3);
        CHECK(known.groups().size() == 2);
    }
}

TEST_CASE("evidence: an open communicator counts, and a closed one of the same number does not") {
    for (const bool closed_first : {false, true}) {
        std::vector<recording> all{of_rank(0, {made_call(9, in_flight)}), of_rank(0, {made_call(5, in_flight)})};
        all[closed_first ? 0 : 1].head.of.is_closed = 1;
        CHECK(waits_in(evidence(all), 0) == (closed_first ? 5 : 9));
    }
}

TEST_CASE("evidence: recordings of an earlier epoch do not count") {
    std::vector<recording> all{of_rank(0, {made_call(5, in_flight)}), of_rank(1, {made_call(6, in_flight)})};
    all[1].head.of.epoch = 1;
    const evidence known(all);
    CHECK(known.present() == std::set<rank_t>{1});
    CHECK(waits_in(known, 0) == 0);
    CHECK(waits_in(known, 1) == 6);
}

TEST_CASE("evidence: a failure is over when a later call of its communicator has ended well") {
    const auto says = [](std::uint16_t context, std::vector<call_record> calls) {
        recording one = of_rank(2, std::move(calls), 3);
        one.head.poison.code = errc::deadline;
        one.head.poison.operation = 4;
        one.head.poison.context = context;
        const std::vector<recording> all{one};
        return evidence(all).said().size();
    };
    CHECK(says(3, {made_call(4, failed, errc::deadline)}) == 1);
    CHECK(says(3, {made_call(4, failed, errc::deadline), made_call(5, in_flight)}) == 1);
    CHECK(says(3, {made_call(4, failed, errc::deadline), made_call(5, ended)}) == 0);
    CHECK(says(6, {made_call(4, failed, errc::deadline), made_call(5, ended)}) ==
          1); // the call of another communicator
}

TEST_CASE("evidence: ranks wait for the earliest call in which one of them waits") {
    const std::vector<recording> all{of_rank(0, {made_call(7, in_flight)}), of_rank(1, {made_call(8, in_flight)}),
                                     of_rank(2, {made_call(7, in_flight), made_call(8, in_flight)})};
    const evidence known(all);
    const auto [waited, waits] = known.awaited(known.groups().begin()->second);
    REQUIRE(waited != nullptr);
    CHECK(waited->number == 7);
    CHECK(waits == std::vector<rank_t>{0, 2});
    const std::vector<recording> idle{of_rank(0, {made_call(7, ended)})};
    const evidence nothing(idle);
    CHECK(nothing.awaited(nothing.groups().begin()->second).first == nullptr);
}

TEST_CASE("evidence: a rank came late to a call if it made it after another one had given it up") {
    for (const std::uint64_t begin : {74u, 76u}) { // the other one gives up at 75
        std::vector<recording> all{of_rank(0, {made_call(7, failed, errc::deadline)}),
                                   of_rank(1, {made_call(7, in_flight)})};
        all[1].calls[0].begin = begin;
        const auto came_late = [&] {
            const evidence known(all);
            return known.came_late(1, known.groups().begin()->second, all[0].calls[0]);
        };
        CHECK_FALSE(came_late()); // nobody says that it was missing
        all[0].head.poison = detail::status_record::of(deadline_of(1, absence::not_come));
        CHECK(came_late() == (begin == 76));
        all[1].head.poison = detail::status_record::of(came_too_late(1));
        CHECK(came_late()); // it says so itself
    }
}

TEST_CASE("evidence: one rank without a recording may be the absent one, unless others name somebody") {
    std::vector<recording> all{of_rank(0, {made_call(7, in_flight)}), of_rank(2, {made_call(7, in_flight)})};
    CHECK(evidence(all).may_be_absent());
    all[0].head.poison = detail::status_record::of(deadline_of(2, absence::silent));
    CHECK_FALSE(evidence(all).may_be_absent());
    CHECK(evidence(all).is_told_missing(2));
    CHECK_FALSE(evidence(all).is_told_missing(1));
    all.pop_back();
    all[0].head.poison = {};
    CHECK_FALSE(evidence(all).may_be_absent()); // two have none
}

TEST_CASE("evidence: a rank does not wait for one that has ended the same call") {
    std::vector<recording> all{of_rank(0, {made_call(3, ended), made_call(4, in_flight)}),
                               of_rank(1, {made_call(3, in_flight)}),
                               of_rank(2, {made_call(3, ended), made_call(4, in_flight)})};
    const auto waits = [&](rank_t r, std::uint32_t number, std::vector<rank_t> others) {
        detail::waiting_record& w = all[r].head.moment.waiting[0];
        all[r].head.moment.ticks = 1;
        all[r].head.moment.in_flight = 1;
        w.number = number;
        w.count = static_cast<std::uint32_t>(others.size());
        for (std::size_t i = 0; i != others.size(); ++i) w.edges[i] = {others[i], 0};
    };
    waits(0, 4, {1, 2});
    waits(1, 3, {0}); // it was stopped before it saw the message
    waits(2, 4, {0});
    const evidence known(all);
    CHECK(known.waits_for(known.blocked().at(0)) == std::vector<rank_t>{1, 2});
    CHECK(known.waits_for(known.blocked().at(1)).empty());
    CHECK(known.waits_for(known.blocked().at(2)) == std::vector<rank_t>{0});
    const diagnosis d = detail::diagnostician(all).find();
    CHECK(d.what == diagnosis::cause::stuck);
    CHECK(d.ranks == std::vector<rank_t>{1});
}

TEST_CASE("evidence: a rank may wait for more than its recording names") {
    // All of those that rank 0 names have ended its call, and stand in the next one; it waits for rank
    // 13.
    constexpr rank_t size = detail::waiting_record::most + 2;
    std::vector<recording> all;
    for (rank_t r = 0; r != size; ++r) {
        const bool has_ended = r != 0 && r != 13;
        all.push_back(of_rank(r, {made_call(3, has_ended ? ended : in_flight)}));
        if (has_ended) all[r].calls.push_back(made_call(4, in_flight));
        all[r].head.of.size = size;
        all[r].members.clear();
        for (rank_t m = 0; m != size; ++m) all[r].members.push_back(m);
    }
    all[0].head.moment.ticks = 1;
    all[0].head.moment.in_flight = 1;
    detail::waiting_record& w = all[0].head.moment.waiting[0];
    w.number = 3;
    w.count = detail::waiting_record::most + 1;
    for (rank_t i = 0; i != detail::waiting_record::most; ++i) w.edges[i] = {i + 1, 0};
    const evidence known(all);
    CHECK(known.waits_for(known.blocked().at(0)).empty());
    CHECK(known.waits(known.blocked().at(0)));
    CHECK_FALSE(known.waits(known.blocked().at(13)));
    const diagnosis d = detail::diagnostician(all).find();
    CAPTURE(d.sentence);
    CHECK(d.what == diagnosis::cause::waiting); // of ranks 1 to 12, nobody waits for any
    CHECK(d.ranks.empty());
}

TEST_CASE("evidence: the latest call of a rank in words") {
    std::vector<recording> all{of_rank(0, {made_call(7, ended)}), of_rank(0, {made_call(9, ended)}, 4), of_rank(1, {})};
    {
        const evidence known(all);
        CHECK(known.now_ns() == 1'000);
        CHECK(known.last_words(all[0]) ==
              "; its last call was " + detail::call_words(made_call(7, ended), 0) + ", 925 ns ago");
        CHECK(known.last_words(0) ==
              "; its last call was " + detail::call_words(made_call(9, ended), 4) + ", 905 ns ago");
        CHECK(known.last_words(1) == "; it has made no call");
        CHECK(known.last_words(2) == "; there is no recording of it");
        CHECK(known.told_last_words(2) == "; there is no recording of it");
    }
    const auto told = [&](absence why) {
        all[0].head.poison = detail::status_record::of(deadline_of(2, why));
        return evidence(all).told_last_words(2);
    };
    CHECK(told(absence::not_come) == "; its last call was " + detail::call_text(1, 7, 2));
    CHECK(told(absence::silent) == "; it does not answer, and there is no recording of it");
}
