// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's wait, if it has one, is `void wait
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct sleepy : bough::self {
    void wait(std::uint32_t) {}
};
void call() { bough::communicator comm{sleepy{}}; }
