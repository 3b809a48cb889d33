// SPDX-License-Identifier: BSL-1.0
// What befalls a rank of a job, in its own process.
#ifndef BOUGH_TEST_SOAK_STRIKE_HPP
#define BOUGH_TEST_SOAK_STRIKE_HPP

#include "soak/board.hpp"
#include "soak/draw.hpp"

namespace soak {

// The rank begins to join.
void strike_before_join(const job_plan& job, seat& mine);
// The call of the plan begins: the fault comes now, or so many microseconds later. What befalls the
// communicator, its operations and its memory is not done here (rank.hpp).
void strike(const job_plan& job, seat& mine);
// The rank has done its part. No signal comes any more.
void call_off_strike();

// From now on calls of this process, if they would send or receive more than a byte, may do less; one
// that does sets the flag. (injected.cpp)
void begin_short_calls(std::uint64_t seed, std::atomic<bool>& happened);
// From now on the time of day is another one; who asks for it sets the flag.
void begin_clock_jumps(std::uint64_t seed, std::atomic<bool>& happened);

} // namespace soak

#endif
