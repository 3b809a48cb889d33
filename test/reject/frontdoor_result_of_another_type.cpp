// SPDX-License-Identifier: BSL-1.0
// expect: bough: input and output must have elements of one type
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& in, std::vector<float>& out) {
    bough::allreduce(comm, in, out, bough::plus{});
}
