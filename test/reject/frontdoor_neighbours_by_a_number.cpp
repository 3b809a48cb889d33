// SPDX-License-Identifier: BSL-1.0
// expect: bough: what this collective is done by is a plan, an algorithm or a family that serves it
#include <bough/neighbour_allgather.hpp>
#include <bough/transport/self.hpp>

// No choice at all.
void f(bough::communicator<bough::self>& comm, std::span<const int> in, std::span<int> out,
       const bough::neighbourhood& around) {
    bough::neighbour_allgather(comm, in, out, around, 7);
}
