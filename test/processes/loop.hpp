// SPDX-License-Identifier: BSL-1.0
// A rank that makes calls until one of them fails, for trials in which another process is struck meanwhile.
#ifndef BOUGH_TEST_PROCESSES_LOOP_HPP
#define BOUGH_TEST_PROCESSES_LOOP_HPP

#include "support/sample.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/communicator.hpp>

#include <cstdint>

namespace bough_test {

// Makes call(comm, dice) again and again, with the same dice on every rank. One of four is a call of `other`. The
// rank is in phase 1 while it calls. In phase 2 it has reported how the last call ended, and nobody leaves before phase 3:
// others may still ask it.
template <class X, class F>
void call_until_one_fails(bough::communicator<X>& comm, bough::communicator<X>& other, report& told, std::uint64_t seed,
                          F&& call) {
    told.phase = 1;
    bough::status s;
    for (std::uint64_t i = 0; !s; ++i) {
        const std::uint64_t dice = mixed(seed + i);
        s = call(dice >> 32 & 3 ? comm : other, dice);
    }
    told.result = s;
    told.phase = 2;
    while (told.phase != 3) comm.progress();
}

} // namespace bough_test

#endif
