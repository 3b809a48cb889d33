// SPDX-License-Identifier: BSL-1.0
// expect: bough: what this collective is done by is a plan, an algorithm or a family that serves it
#include <bough/multicast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/self.hpp>

void f(bough::communicator<bough::self>& comm, std::span<int> data, std::span<const bough::rank_t> members) {
    bough::multicast(comm, data, members, bough::root{0}, bough::plus{});
}
