// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective combines: give an op behind the data
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& x) { bough::allreduce(comm, x); }
