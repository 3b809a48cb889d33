// SPDX-License-Identifier: BSL-1.0
// expect: bough: elements of a run-time type take a run_time_op, or an any_op
#include <bough/run_time.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm, double* data) {
    bough::allreduce(comm, bough::elements{data, 1, {.size = 8}}, bough::plus{});
}
