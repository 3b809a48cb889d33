// SPDX-License-Identifier: BSL-1.0
// expect: bough: data lie one behind the other in memory
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <list>

void call(bough::communicator<bough::self>& comm, std::list<double>& x) { bough::allreduce(comm, x, bough::plus{}); }
