// SPDX-License-Identifier: BSL-1.0
// expect: bough: a pointer does not say how many elements follow
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm, double* x) { bough::allreduce(comm, x, 3, bough::plus{}); }
