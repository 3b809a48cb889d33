// SPDX-License-Identifier: BSL-1.0
// What a diagnosis says of recordings that no job has made: each finding, also those to which hangs seldom lead.
#include "report/made_recordings.hpp"
#include "support/catch.hpp"
#include <bough/core/absence.hpp>
#include <bough/core/status.hpp>
#include <bough/op/names.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/diagnosis.hpp>
#include <bough/report/read.hpp>
#include <bough/report/words.hpp>
#include <bough/schedule/goal.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace bough;
using namespace test::made;
using cause = diagnosis::cause;

namespace {

diagnosis found(const std::vector<recording>& all) { return detail::diagnostician(all).find(); }

recording dead(rank_t by, rank_t victim, std::vector<call_record> calls) {
    recording made = of_rank(by, std::move(calls));
    made.head.poison.code = errc::peer_dead;
    made.head.poison.peer = victim;
    return made;
}

} // namespace

TEST_CASE("findings: of two ranks that are said to be dead, the one that reports nothing itself is") {
    // Ranks 0 and 2 say that 1 is dead; 1 says so of 0, which it could not reach any more.
    const auto lost = [](std::uint32_t n) { return made_call(n, failed, errc::peer_dead); };
    const std::vector<recording> quiet{
        dead(0, 1, {lost(7)}), of_rank(1, {made_call(6, ended), made_call(7, in_flight)}), dead(2, 0, {lost(7)})};
    for (const bool turned : {false, true}) {
        std::vector<recording> all = quiet;
        if (turned) std::swap(all[0], all[2]);
        const diagnosis d = found(all);
        CHECK(d.what == cause::died);
        CHECK(d.ranks == std::vector<rank_t>{1});
        CHECK(d.sentence == "rank 1 died in operation #7");
    }
    // All report a failure: most of them say that it is rank 2.
    for (const rank_t most : {1u, 2u}) {
        std::vector<recording> all{dead(0, most, {lost(7)}), dead(1, 2, {lost(7)}), dead(2, 1, {lost(7)})};
        const diagnosis d = found(all);
        CHECK(d.ranks == std::vector<rank_t>{most});
        CHECK(d.sentence == "rank " + std::to_string(most) + " died in operation #7");
    }
    // Nobody has been told more: the rank that died made no report.
    const std::vector<recording> gone{dead(0, 2, {lost(7)}), dead(1, 2, {lost(7)})};
    CHECK(found(gone).sentence == "rank 2 died; there is no recording of it");
    // A failure of another kind came first.
    std::vector<recording> later = gone;
    later[0].head.poison.code = errc::op_threw;
    CHECK(found(later).what != cause::died);
}

TEST_CASE("findings: ranks that others have not heard of, though they made the call") {
    const auto of_call = [](status s) {
        s.operation = 7;
        s.collective = 2;
        return detail::status_record::of(s);
    };
    const auto say = [&](std::vector<recording>& all, absence why) {
        all[0].head.poison = of_call(deadline_of(2, why));
    };
    const auto given_up = made_call(7, failed, errc::deadline);
    std::vector<recording> all{of_rank(0, {given_up}), of_rank(1, {given_up}), of_rank(2, {made_call(7, in_flight)})};
    all[2].calls[0].begin = 60; // in time
    say(all, absence::not_come);
    diagnosis d = found(all);
    CHECK(d.what == cause::stuck);
    CHECK(d.ranks == std::vector<rank_t>{2});
    CHECK(d.sentence == "rank 2 is in operation #7, and does not move");
    all[2].calls[0] = made_call(7, ended);
    d = found(all);
    CHECK(d.what == cause::stuck);
    CHECK(d.ranks == std::vector<rank_t>{2});
    CHECK(d.sentence == "rank 2 has not come to allreduce #7");
    say(all, absence::silent);
    CHECK(found(all).sentence == "rank 2 has not come to allreduce #7; it does not answer the others");
    // Two are named, each by another rank.
    all[2].head.poison = of_call(deadline_of(1, absence::silent));
    all[1].calls[0] = made_call(7, ended);
    d = found(all);
    CHECK(d.ranks == std::vector<rank_t>{1, 2});
    CHECK(d.sentence == "ranks 1 and 2 have not come to allreduce #7; they do not answer the others");
}

TEST_CASE("findings: a call that differs from the others' says in what") {
    const call_signature base{
        .count = 8, .op = 1, .type = 2, .plan = 3, .root = 4, .kind = 1, .late_ranks = 0, .name = 5};
    const auto says = [&](auto change) {
        call_signature other = base;
        change(other);
        CHECK(detail::difference_words(base, base).starts_with("plan "));
        return detail::difference_words(other, base);
    };
    const auto hex = [](mismatch what, std::uint64_t value) { return detail::value_of(what, value); };
    CHECK(says([](call_signature& s) { s.count = 4; }) == "count 4, where others have 8");
    CHECK(says([](call_signature& s) { s.root = 0; }) == "root 0, where others have 4");
    CHECK(says([](call_signature& s) { s.name = 0; }) == "name no name, where others have " + hex(mismatch::name, 5));
    CHECK(says([](call_signature& s) { s.type = 9; }) ==
          "type " + hex(mismatch::type, 9) + ", where others have " + hex(mismatch::type, 2));
    CHECK(says([](call_signature& s) { s.op = 9; }) ==
          "op " + hex(mismatch::op, 9) + ", where others have " + hex(mismatch::op, 1));
    CHECK(says([](call_signature& s) { s.plan = 9; }) ==
          "plan " + hex(mismatch::plan, 9) + ", where others have " + hex(mismatch::plan, 3));

    std::vector<recording> all{of_rank(0, {made_call(7, in_flight)}), of_rank(1, {made_call(7, in_flight)}),
                               of_rank(2, {made_call(7, in_flight)})};
    for (recording& one : all) one.calls[0].signature = base;
    all[1].calls[0].signature.name = 6;
    const diagnosis d = found(all);
    CHECK(d.what == cause::differs);
    CHECK(d.ranks == std::vector<rank_t>{1});
    CHECK(d.sentence ==
          "rank 1 called reduce #7 of 64 bytes with name 0x0000000000000006, where others have 0x0000000000000005");
}

TEST_CASE("findings: a rank that takes no part in a multicast makes no other call than its members") {
    std::vector<recording> all{of_rank(0, {made_call(7, ended), made_call(8, in_flight)}),
                               of_rank(1, {made_call(7, ended)}),
                               of_rank(2, {made_call(7, ended), made_call(8, in_flight)})};
    for (recording& one : all) one.calls[0].signature = {.count = 8, .kind = goal::multicast::kind};
    all[2].calls[0].signature = {.op = detail::takes_no_part, .kind = goal::multicast::kind};
    const diagnosis d = found(all);
    CHECK(d.what == cause::not_called);
    CHECK(d.ranks == std::vector<rank_t>{1});
    // Members that differ are found as before.
    all[1].calls[0].signature.count = 9;
    CHECK(found(all).what == cause::differs);
}

namespace {

constexpr std::uint64_t ms = 1'000'000;

// It waits in call 7 for these ranks, and has noted so last at this time.
recording waits_since(rank_t r, std::uint64_t at_ns, const std::vector<rank_t>& of) {
    recording made = of_rank(r, {made_call(7, in_flight)});
    made.head.latest = {at_ns, at_ns};
    made.head.moment.ticks = at_ns;
    made.head.moment.in_flight = 1;
    auto& w = made.head.moment.waiting[0];
    w.number = 7;
    w.steps_left = w.steps = 3;
    for (const rank_t x : of) w.edges[w.count++] = {x, 0};
    return made;
}

} // namespace

TEST_CASE("findings: of ranks that all wait, the one that has given no sign for long is named") {
    const auto job = [](std::uint64_t stopped_ns, std::uint64_t other_ns = 60'000 * ms) {
        return std::vector<recording>{waits_since(0, 60'000 * ms, {2}), waits_since(1, other_ns, {0}),
                                      waits_since(2, stopped_ns, {1})};
    };
    diagnosis d = found(job(47'700 * ms));
    CHECK(d.what == cause::stuck);
    CHECK(d.ranks == std::vector<rank_t>{2});
    CHECK(d.sentence == "rank 2 is in operation #7 and has given no sign for 12 s; 1 rank waits for it");
    // A sign each tenth of a second may be late.
    CHECK(found(job(59'000 * ms)).ranks == std::vector<rank_t>{2});
    CHECK(found(job(59'001 * ms)).what == cause::waiting);
    CHECK(found(job(60'000 * ms)).what == cause::waiting);
    // Others are late, too, as on a machine with too much to do.
    CHECK(found(job(58'000 * ms, 59'500 * ms)).ranks == std::vector<rank_t>{2});
    CHECK(found(job(58'001 * ms, 59'500 * ms)).what == cause::waiting);
    // Nobody waits for it.
    std::vector<recording> all = job(47'700 * ms);
    all[0] = waits_since(0, 60'000 * ms, {1});
    CHECK(found(all).what == cause::waiting);
    // It has noted something of another communicator meanwhile.
    all = job(47'700 * ms);
    recording other = of_rank(2, {made_call(1, ended)}, 1);
    other.head.latest = {59'900 * ms, 59'900 * ms};
    all.push_back(other);
    CHECK(found(all).what == cause::waiting);
    // Two are silent, since different times.
    all = {waits_since(0, 60'000 * ms, {1, 2}), waits_since(1, 20'000 * ms, {0}), waits_since(2, 50'000 * ms, {1})};
    d = found(all);
    CHECK(d.ranks == std::vector<rank_t>{1, 2});
    CHECK(d.sentence == "ranks 1 and 2 are in operation #7 and have given no sign for 10 s; 1 rank waits for them");
}

TEST_CASE("findings: a rank whose call has failed need give no sign any more") {
    std::vector<recording> all{waits_since(0, 60'000 * ms, {2}), waits_since(1, 60'000 * ms, {0}),
                               waits_since(2, 40'000 * ms, {1})};
    all[2].calls[0] = made_call(7, failed, errc::cancelled);
    CHECK(found(all).what == cause::waiting);
    all.erase(all.begin() + 1, all.end()); // and one rank alone is not compared with itself
    CHECK(found(all).ranks != std::vector<rank_t>{0});
}

TEST_CASE("findings: nothing has failed, or a rank says of its failure what no other finding explains") {
    const std::vector<recording> idle{of_rank(0, {made_call(7, ended)}), of_rank(1, {made_call(7, ended)}),
                                      of_rank(2, {made_call(7, ended)})};
    CHECK(found(idle).what == cause::none);
    CHECK(found(idle).sentence == "nothing waits, and nothing has failed");
    std::vector<recording> all = idle;
    all[0].head.poison.code = errc::peer_aborted; // because of what rank 1 tells
    all[0].head.poison.cause = errc::op_threw;
    all[0].head.poison.peer = 1;
    all[1].head.poison.code = errc::op_threw;
    const diagnosis d = found(all);
    CHECK(d.what == cause::failed);
    CHECK(d.ranks == std::vector<rank_t>{1});
    CHECK(d.sentence == "rank 1 says: the op threw an exception");
}

TEST_CASE("findings: of ranks without a recording, those are named whom others miss, and one alone") {
    const auto in_call = made_call(7, in_flight);
    const std::vector<recording> most{of_rank(0, {in_call}), of_rank(1, {in_call})};
    diagnosis d = found(most);
    CHECK(d.what == cause::not_called);
    CHECK(d.ranks == std::vector<rank_t>{2});
    CHECK(d.sentence == "rank 2 has not called operation #7; there is no recording of it; 2 ranks wait for it");
    // Of two without one either may be elsewhere, as on a machine whose files were not collected.
    std::vector<recording> few{of_rank(0, {in_call})};
    d = found(few);
    CHECK(d.what == cause::waiting);
    CHECK(d.ranks.empty());
    // The rank that waits says whom it misses.
    few[0].calls[0] = made_call(7, failed, errc::deadline);
    few[0].head.poison = detail::status_record::of(deadline_of(2, absence::not_come));
    d = found(few);
    CHECK(d.what == cause::not_called);
    CHECK(d.ranks == std::vector<rank_t>{2});
}

TEST_CASE("findings: a rank that came after others had given up came too late, and by how much") {
    const auto given_up = made_call(7, failed, errc::deadline); // from 70 to 75
    std::vector<recording> all{of_rank(0, {given_up}), of_rank(1, {made_call(7, in_flight)}), of_rank(2, {given_up})};
    all[0].head.poison = detail::status_record::of(deadline_of(1, absence::not_come));
    all[1].calls[0].begin = 82;
    const diagnosis d = found(all);
    CHECK(d.what == cause::not_called);
    CHECK(d.ranks == std::vector<rank_t>{1});
    CHECK(d.sentence == "rank 1 came too late to operation #7, 12 ns after others");
}

TEST_CASE("findings: ranks, sizes and times in words") {
    using list = std::vector<rank_t>;
    const auto ranks = [](const list& some) { return detail::ranks_text(some); };
    CHECK(ranks({5}) == "rank 5");
    CHECK(ranks({1, 2}) == "ranks 1 and 2");
    CHECK(ranks({1, 2, 3}) == "ranks 1-3");
    CHECK(ranks({1, 2, 4}) == "ranks 1, 2 and 4");
    CHECK(ranks({0, 1, 2, 3, 5, 7}) == "ranks 0-3, 5 and 7");
    CHECK(ranks({0, 2, 4, 5, 6}) == "ranks 0, 2 and 4-6");
    CHECK(ranks({0, 2, 4, 6, 8, 10, 12, 14, 16}) == "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 16");
    CHECK(ranks({0, 2, 4, 6, 8, 10, 12, 14, 16, 18}) == "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 2 others");
    CHECK(detail::bytes_text(0) == "0 bytes");
    CHECK(detail::bytes_text(1) == "1 byte");
    CHECK(detail::bytes_text(1023) == "1023 bytes");
    CHECK(detail::bytes_text(1024) == "1 KiB");
    CHECK(detail::bytes_text(1025) == "1025 bytes");
    CHECK(detail::bytes_text(3u << 20) == "3 MiB");
    CHECK(detail::bytes_text(std::uint64_t{5} << 30) == "5 GiB");
    CHECK(detail::duration_text(999) == "999 ns");
    CHECK(detail::duration_text(1'000) == "1.0 us");
    CHECK(detail::duration_text(12'000) == "12 us");
    CHECK(detail::duration_text(2'300'000) == "2.3 ms");
    CHECK(detail::duration_text(10'000'000'000) == "10 s");
}

TEST_CASE("findings: a rank that was told that it came too late is named also where there are no other recordings") {
    std::vector<recording> all{of_rank(1, {made_call(7, failed, errc::deadline)})};
    all[0].head.poison = detail::status_record::of(came_too_late(1));
    const diagnosis d = found(all);
    CHECK(d.what == cause::failed);
    CHECK(d.ranks == std::vector<rank_t>{1});
    CHECK(d.sentence == "rank 1 says: this rank, 1, came too late: the operation did not end by its deadline");
}
