// SPDX-License-Identifier: BSL-1.0
// Recordings that no job has made, for tests of what is found in them.
#ifndef BOUGH_TEST_REPORT_MADE_RECORDINGS_HPP
#define BOUGH_TEST_REPORT_MADE_RECORDINGS_HPP

#include <bough/core/absence.hpp>
#include <bough/core/status.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/read.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace test::made {

using namespace bough;
using detail::recording;

inline constexpr auto in_flight = call_state::in_flight, ended = call_state::ended, failed = call_state::failed;

// Call `number` begins at 10 * number and ends 5 later. A tick is a nanosecond.
inline call_record made_call(std::uint32_t number, call_state state, errc code = errc::ok) {
    call_record c;
    c.number = number;
    c.begin = 10 * number;
    c.end = state == in_flight ? 0 : c.begin + 5;
    c.its = {state, code, 8};
    return c;
}
// Of the communicator of all three ranks.
inline recording of_rank(rank_t r, std::vector<call_record> calls, std::uint16_t context = 0) {
    recording made;
    made.head.of.rank = r;
    made.head.of.size = 3;
    made.head.of.context = context;
    made.head.first = {1, 1};
    made.head.latest = {1'000, 1'000};
    made.members = {0, 1, 2};
    made.calls = std::move(calls);
    return made;
}
inline status deadline_of(rank_t missing, absence why) {
    status s = came_too_late(missing);
    s.code = errc::deadline;
    s.theirs = last_call{.operation = 7, .context = 2, .collective = 1, .absence = why}.packed();
    return s;
}

} // namespace test::made

#endif
