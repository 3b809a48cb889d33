// SPDX-License-Identifier: BSL-1.0
// A rank that only sends may have ended many calls rightly before another one finds out that they do not match.
#ifndef BOUGH_TEST_FRONTDOOR_HEAR_HPP
#define BOUGH_TEST_FRONTDOOR_HEAR_HPP

#include <bough/communicator.hpp>

#include <cstdint>

namespace test {

// Waits until the rank has heard of a failure of its group, for 20 s at most. `seen`: what a call of it said, if anything.
template <class T>
void hear_of_failure(bough::communicator<T>& comm, bough::status& seen) {
    const std::uint64_t deadline = comm.transport().now_ns() + 20'000'000'000;
    while (!seen && comm.transport().now_ns() < deadline) {
        comm.progress();
        seen = comm.poison();
    }
}

} // namespace test

#endif
