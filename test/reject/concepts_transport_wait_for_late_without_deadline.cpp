// SPDX-License-Identifier: BSL-1.0
// expect: bough: a Transport's wait_for_late, if it has one, is `void wait_for_late
// lines: 15
#include <bough/communicator.hpp>
#include <bough/transport/self.hpp>

struct drowsy : bough::self {
    void wait_for_late(std::uint32_t&) {}
};
void call() { bough::communicator comm{drowsy{}}; }
