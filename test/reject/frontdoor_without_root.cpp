// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective has a root: write root\{0\}
// lines: 15
#include <bough/reduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& x) { bough::reduce(comm, x, bough::plus{}); }
