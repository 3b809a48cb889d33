// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Op needs a call with two elements of this type
// lines: 16
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm) {
    struct point {
        double x, y;
    };
    (void)bough::allreduce(comm, point{1, 2}, bough::plus{});
}
