// SPDX-License-Identifier: BSL-1.0
// expect: bough: exscan of one value gives rank 0 the op.s identity
// lines: 15
#include <bough/exscan.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm) {
    (void)bough::exscan(comm, 1, [](int a, int b) { return a + b; });
}
