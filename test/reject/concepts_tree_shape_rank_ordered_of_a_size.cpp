// SPDX-License-Identifier: BSL-1.0
// expect: bough: a TreeShape's rank_ordered, if it has one, is `bool rank_ordered
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/flat.hpp>

struct my_flat : bough::flat {
    bool rank_ordered(bough::rank_t) const { return true; }
};
void call(bough::communicator<bough::self>& comm, double& x) {
    bough::allreduce(comm, std::span(&x, 1), bough::plus{}, my_flat{});
}
