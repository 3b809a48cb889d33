// SPDX-License-Identifier: BSL-1.0
// expect: bough: what is started writes its result into memory of yours
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm) { (void)bough::start_allreduce(comm, 1.5, bough::plus{}); }
