// SPDX-License-Identifier: BSL-1.0
// expect: bough: elements of a run-time type cannot be mixed with spans
#include <bough/run_time.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, const bough::run_time_op& op, std::vector<double>& out) {
    bough::allreduce(comm, bough::elements{out.data(), 1, {.size = 8}}, out, op);
}
