// SPDX-License-Identifier: BSL-1.0
// expect: bough: the result is written here: give elements, or const_elements and elements
#include <bough/run_time.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm, const double* data) {
    bough::allgather(comm, bough::const_elements{data, 1, {.size = 8}});
}
