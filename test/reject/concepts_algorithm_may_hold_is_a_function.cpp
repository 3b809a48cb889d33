// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Algorithm's may_hold, if it has one, is `static constexpr bool may_hold
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

struct held : bough::recursive_doubling {
    bool may_hold() const { return true; }
};
void call(bough::communicator<bough::self>& comm, double& x) {
    bough::allreduce(comm, std::span(&x, 1), bough::plus{}, held{});
}
