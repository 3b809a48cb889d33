// SPDX-License-Identifier: BSL-1.0
// expect: a PortedCostModel needs `double port_ns\(rank_t from, rank_t to, std::uint64_t bytes, bool duplex\) const`
#include <bough/concepts/explain_cost_model.hpp>

struct my_network {
    double start_ns() const { return 0; }
    double send_ns(bough::rank_t, bough::rank_t, std::uint64_t) const { return 0; }
    double latency_ns(bough::rank_t, bough::rank_t, std::uint64_t) const { return 0; }
    double receive_ns(bough::rank_t, bough::rank_t, std::uint64_t) const { return 0; }
    double combine_ns(bough::rank_t, std::uint64_t) const { return 0; }
    double copy_ns(bough::rank_t, std::uint64_t) const { return 0; }
    bool lands_early() const { return true; }
};
static_assert(bough::explain_ported_cost_model<my_network>());

int main() {}
