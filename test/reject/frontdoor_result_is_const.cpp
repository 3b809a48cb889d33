// SPDX-License-Identifier: BSL-1.0
// expect: bough: the result is written here
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, const std::vector<double>& x) {
    bough::allreduce(comm, x, bough::plus{});
}
