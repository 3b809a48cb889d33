// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective combines: give an op behind the data
// lines: 15
#include <bough/exscan.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm) { (void)bough::exscan(comm, 1.5); }
