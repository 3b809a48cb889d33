// SPDX-License-Identifier: BSL-1.0
// Parts of traces that no job has written: which calls they are, and when each thing was, by one clock.
#include "support/catch.hpp"
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/interchange/traced_run.hpp>
#include <bough/report/options.hpp>
#include <bough/report/read_trace.hpp>
#include <bough/report/trace_format.hpp>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

using namespace bough;
using detail::read_part;
using detail::trace_entry;
using detail::traced_call;
using detail::traced_run;
using kind = operation_event::kind;

namespace {

// Of a rank of two. Its steady clock shows 1000 when the time of day is `utc_ns`.
read_part part_of(rank_t r, const char* machine, std::uint64_t utc_ns, std::vector<trace_entry> entries) {
    read_part made;
    made.head.rank = r;
    made.head.size = 2;
    made.head.process = r + 1;
    std::memcpy(made.head.machine.data(), machine, std::strlen(machine));
    made.head.steady_ns = 1000;
    made.head.utc_ns = utc_ns;
    made.members = {0, 1};
    made.entries = std::move(entries);
    return made;
}
trace_entry entry(kind what, std::uint32_t number, std::uint64_t at_ns, errc code = errc::ok) {
    trace_entry e;
    e.what = static_cast<std::uint8_t>(1 + static_cast<unsigned>(what));
    e.number = number;
    e.at_ns = at_ns;
    e.code = static_cast<std::uint8_t>(code);
    e.bytes = 8 * number;
    e.peer = 1;
    return e;
}
traced_run run_of(const std::vector<read_part>& parts) { return detail::run_collector<0>(parts).run(); }

} // namespace

TEST_CASE("traced_run: times count from the first one, also those of ends and messages") {
    const std::vector<read_part> parts{
        part_of(1, "a", 5000, {entry(kind::start, 1, 1200), entry(kind::arrived, 1, 1250), entry(kind::end, 1, 1300)}),
        part_of(0, "a", 5000,
                {entry(kind::start, 1, 1100), entry(kind::sent, 1, 1150), entry(kind::start, 2, 1160),
                 entry(kind::end, 1, 1400, errc::deadline), entry(kind::sent, 2, 1390)})};
    const traced_run made = run_of(parts);
    REQUIRE(made.tracks.size() == 2);
    CHECK(made.tracks[0].head.rank == 0);
    CHECK(made.tracks[1].head.rank == 1);
    CHECK(made.machines == std::vector<std::vector<rank_t>>{{0, 1}});
    CHECK(made.end_ns == 400);
    const std::vector<traced_call>&its = made.tracks[0].calls, &others = made.tracks[1].calls;
    REQUIRE(its.size() == 2);
    CHECK(its[0].begin_ns == 100);
    CHECK(its[0].has_ended);
    CHECK(its[0].end_ns == 400);
    CHECK(its[0].code == errc::deadline);
    REQUIRE(its[0].messages.size() == 1);
    CHECK(its[0].messages[0].at_ns == 150);
    CHECK(its[0].messages[0].what == kind::sent);
    CHECK(its[0].messages[0].bytes == 8);
    CHECK(its[1].begin_ns == 160);
    CHECK_FALSE(its[1].has_ended);
    CHECK(its[1].end_ns == 400); // that of the run
    REQUIRE(its[1].messages.size() == 1);
    CHECK(its[1].messages[0].at_ns == 400); // the clock never goes back
    REQUIRE(others.size() == 1);
    CHECK(others[0].begin_ns == 200);
    CHECK(others[0].end_ns == 300);
    CHECK(others[0].code == errc::ok);
    REQUIRE(others[0].messages.size() == 1);
    CHECK(others[0].messages[0].at_ns == 250);
}

TEST_CASE("traced_run: a call that has not ended lasts until its communicator was closed") {
    std::vector<read_part> parts{part_of(0, "a", 5000, {entry(kind::start, 1, 1100)}),
                                 part_of(1, "a", 5000, {entry(kind::start, 1, 1200), entry(kind::end, 1, 1900)})};
    CHECK(run_of(parts).tracks[0].calls[0].end_ns == 900);
    parts[0].head.closed_ns = 1500;
    const traced_run made = run_of(parts);
    CHECK(made.tracks[0].calls[0].end_ns == 500);
    CHECK(made.tracks[0].closed_ns == 500);
    CHECK(made.end_ns == 900);
    parts[0].head.closed_ns = 2500; // after all that was done
    CHECK(run_of(parts).end_ns == 1500);
}

TEST_CASE("traced_run: clocks of several machines are set by the time of day") {
    // The steady clocks of both show 1000 when they begin, but that of b began 300 later.
    std::vector<read_part> parts{
        part_of(0, "a", 5000, {entry(kind::start, 1, 1100), entry(kind::sent, 1, 1150), entry(kind::end, 1, 1600)}),
        part_of(1, "b", 5300, {entry(kind::start, 1, 1100), entry(kind::arrived, 1, 1150), entry(kind::end, 1, 1200)})};
    parts[1].head.closed_ns = 1250;
    const traced_run made = run_of(parts);
    CHECK(made.machines == std::vector<std::vector<rank_t>>{{0}, {1}});
    const traced_call &a = made.tracks[0].calls[0], &b = made.tracks[1].calls[0];
    CHECK(std::pair(a.begin_ns, a.end_ns) == std::pair<std::uint64_t, std::uint64_t>(100, 600));
    CHECK(a.messages[0].at_ns == 150);
    CHECK(std::pair(b.begin_ns, b.end_ns) == std::pair<std::uint64_t, std::uint64_t>(400, 500));
    CHECK(b.messages[0].at_ns == 450);
    CHECK(made.tracks[1].closed_ns == 550);
    CHECK(made.end_ns == 600);
}

TEST_CASE("traced_run: what belongs to no call that has begun is left out") {
    std::vector<read_part> parts{
        part_of(0, "a", 5000, {entry(kind::sent, 1, 1100), entry(kind::end, 1, 1150), entry(kind::start, 2, 1200)}),
        part_of(0, "a", 5000, {entry(kind::end, 2, 1300), entry(kind::sent, 2, 1350), entry(kind::start, 2, 1400)})};
    parts[0].head.part = 0;
    parts[1].head.part = 1; // goes on with the same communicator
    parts[1].head.lost = 3;
    for (const bool turned : {false, true}) {
        if (turned) std::swap(parts[0], parts[1]);
        const traced_run made = run_of(parts);
        REQUIRE(made.tracks.size() == 1);
        CHECK(made.tracks[0].lost == 3);
        const std::vector<traced_call>& its = made.tracks[0].calls;
        REQUIRE(its.size() == 2); // a number is used again
        CHECK(its[0].has_ended);
        CHECK(its[0].messages.empty());
        CHECK_FALSE(its[1].has_ended);
        CHECK(its[1].begin_ns == 400);
    }
    // Another communicator of the same number, later: the second instance.
    parts[0].head.communicator = 1;
    parts[1].head.steady_ns = 900;
    const traced_run made = run_of(parts);
    REQUIRE(made.tracks.size() == 2);
    CHECK(made.tracks[0].of.instance == 0);
    CHECK(made.tracks[0].head.communicator == parts[1].head.communicator);
    CHECK(made.tracks[1].of.instance == 1);
}
