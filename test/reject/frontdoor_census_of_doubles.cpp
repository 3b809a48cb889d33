// SPDX-License-Identifier: BSL-1.0
// expect: only with an exact op
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/self.hpp>

void sum(std::span<double> data) {
    bough::communicator comm{bough::self{}};
    bough::allreduce(comm, data, bough::plus{}, bough::census{});
}
