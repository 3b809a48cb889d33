// SPDX-License-Identifier: BSL-1.0
// expect: bough: what is started or bound reads its input until it has ended
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& sum) {
    (void)bough::start_allreduce(comm, std::vector<double>(3), sum, bough::plus{});
}
