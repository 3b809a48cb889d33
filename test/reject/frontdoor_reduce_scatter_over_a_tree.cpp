// SPDX-License-Identifier: BSL-1.0
// expect: bough: what this collective is done by is a plan, an algorithm or a family that serves it
#include <bough/op/arithmetic.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/fnomial.hpp>

void f(bough::communicator<bough::self>& comm, std::span<int> data) {
    bough::reduce_scatter(comm, data, bough::plus{}, bough::fnomial{.degree = 4});
}
