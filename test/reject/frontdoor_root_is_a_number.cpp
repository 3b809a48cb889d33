// SPDX-License-Identifier: BSL-1.0
// expect: bough: a root is written root\{0\}
// lines: 15
#include <bough/gather.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& x) { bough::gather(comm, x, x, 0); }
