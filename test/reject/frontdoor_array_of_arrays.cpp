// SPDX-License-Identifier: BSL-1.0
// expect: bough: the elements are arrays
// lines: 24
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm) {
    double matrix[4][3] = {};
    bough::allreduce(comm, matrix, bough::plus{});
}
