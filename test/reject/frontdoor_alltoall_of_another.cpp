// SPDX-License-Identifier: BSL-1.0
// expect: bough: this algorithm is one of another collective
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/alltoall.hpp>
#include <bough/transport/self.hpp>

// The family pairwise has a reduce_scatter and an alltoall; this is the reduce_scatter.
void f(bough::communicator<bough::self>& comm, std::span<const int> in, std::span<int> out) {
    bough::alltoall(comm, in, out, bough::pairwise_reduce_scatter{});
}
