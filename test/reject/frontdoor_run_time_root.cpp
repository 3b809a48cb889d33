// SPDX-License-Identifier: BSL-1.0
// expect: bough: a root is written root
#include <bough/run_time.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm, double* data) {
    bough::broadcast(comm, bough::elements{data, 1, {.size = 8}}, 0);
}
