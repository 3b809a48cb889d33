// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective is one among neighbours: give a bough::neighbourhood behind the data
#include <bough/neighbour_alltoall.hpp>
#include <bough/transport/self.hpp>

void f(bough::communicator<bough::self>& comm, std::span<const int> in, std::span<int> out) {
    bough::neighbour_alltoall(comm, in, out);
}
