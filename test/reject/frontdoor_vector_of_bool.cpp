// SPDX-License-Identifier: BSL-1.0
// expect: bough: a std::vector<bool> holds bits
// lines: 15
#include <bough/broadcast.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<bool>& x) { bough::broadcast(comm, x, bough::root{0}); }
