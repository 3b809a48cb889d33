// SPDX-License-Identifier: BSL-1.0
// expect: bough: a TreeShape needs ==, by which plans over it are found again
// lines: 15
#include <bough/allreduce.hpp>
#include <bough/transport/self.hpp>

struct star {
    constexpr bough::rank_t parent(bough::rank_t v, bough::rank_t) const { return v == 0 ? bough::no_rank : 0; }
    constexpr bough::rank_t child_count(bough::rank_t v, bough::rank_t n) const { return v == 0 ? n - 1 : 0; }
    constexpr bough::rank_t child(bough::rank_t, bough::rank_t, bough::rank_t i) const { return i + 1; }
    constexpr bough::status check() const { return {}; }
};
void call(bough::communicator<bough::self>& comm, double& x) {
    bough::allreduce(comm, std::span(&x, 1), bough::plus{}, star{});
}
