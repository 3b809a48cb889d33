// SPDX-License-Identifier: BSL-1.0
// expect: bough: this collective takes a list behind the data
// lines: 15
#include <bough/gather.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& x, std::vector<int>& counts) {
    bough::gatherv(comm, x, x, counts, bough::root{0});
}
