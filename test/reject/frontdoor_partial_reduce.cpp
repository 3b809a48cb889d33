// SPDX-License-Identifier: BSL-1.0
// expect: bough: what this collective is done by is a plan
// lines: 15
#include <bough/call/partial.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/self.hpp>

#include <vector>

void call(bough::communicator<bough::self>& comm, std::vector<double>& in, std::vector<double>& out) {
    bough::reduce(comm, in, out, bough::plus{}, bough::root{0}, bough::partial{});
}
