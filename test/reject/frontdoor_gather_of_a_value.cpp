// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective takes vectors
// lines: 15
#include <bough/gather.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm) { bough::gather(comm, 1.5, bough::root{0}); }
