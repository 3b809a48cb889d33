// SPDX-License-Identifier: BSL-1.0
// expect: bough: what is started or bound reads its input until it has ended
// lines: 15
#include <bough/alltoall.hpp>
#include <bough/transport/self.hpp>

#include <array>

void call(bough::communicator<bough::self>& comm, std::array<double, 3>& out) {
    (void)bough::bind_alltoall(comm, std::array<double, 3>{}, out);
}
