// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Algorithm's sends_in_order, if it has one, is `static constexpr bool sends_in_order
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

struct ordered : bough::recursive_doubling {
    bool sends_in_order() const { return true; }
};
void call(bough::communicator<bough::self>& comm, double& x) {
    bough::allreduce(comm, std::span(&x, 1), bough::plus{}, ordered{});
}
