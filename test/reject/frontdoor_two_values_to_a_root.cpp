// SPDX-License-Identifier: BSL-1.0
// expect: bough: the result for one value is returned
// lines: 15
#include <bough/reduce.hpp>
#include <bough/transport/self.hpp>

void call(bough::communicator<bough::self>& comm, double in, double& out) {
    (void)bough::reduce(comm, in, out, bough::plus{}, bough::root{0});
}
