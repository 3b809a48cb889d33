// SPDX-License-Identifier: BSL-1.0
// expect: bough: a partial call has an input and an output
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& x) {
    bough::allreduce(comm, x, bough::plus{}, bough::partial{});
}
