// SPDX-License-Identifier: BSL-1.0
// expect: bough: a partial call blocks
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/operation.hpp>
#include <bough/transport/self.hpp>

#include <vector>

bough::operation call(bough::communicator<bough::self>& comm, std::vector<double>& in, std::vector<double>& out) {
    return bough::start_allreduce(comm, in, out, bough::plus{}, bough::partial{});
}
