// SPDX-License-Identifier: BSL-1.0
// expect: bough: an Algorithm's combines_in_series, if it has one, is `static constexpr bool
// lines: 15
#include <bough/algorithm/by_owner.hpp>
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

struct in_series : bough::by_owner_allreduce {
    bool combines_in_series() const { return true; }
};
void call(bough::communicator<bough::self>& comm, double& x) {
    bough::allreduce(comm, std::span(&x, 1), bough::plus{}, in_series{});
}
