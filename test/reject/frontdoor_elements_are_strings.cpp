// SPDX-License-Identifier: BSL-1.0
// expect: bough: an element must be trivially copyable
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

#include <string>
#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<std::string>& x) {
    bough::allreduce(comm, x, bough::plus{});
}
