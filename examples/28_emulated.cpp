// SPDX-License-Identifier: BSL-1.0
// A cluster of slow and fast ranks and slow links, emulated by threads: what its trees gain can be measured anywhere.
#include <bough/broadcast.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnf.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

// Fig. 1 of Banikazemi et al. 1998, times ten: two of eight ranks are fast; and links of 300 us.
const std::vector<double> send_ns{1e6, 3e6, 3e6, 3e6, 3e6, 1e6, 3e6, 3e6};
constexpr double latency_ns = 300'000;

template <class Tree>
std::uint64_t measured_ns(const Tree& over) {
    bough::emulation cluster{.latency_ns = latency_ns, .jitter_ns = 20'000, .seed = 7};
    for (const double ns : send_ns) cluster.send.push_back({ns, 0});
    std::atomic<std::uint64_t> begin{0}, end{0};
    bough::in_process{8}.run([&](auto transport) {
        bough::communicator comm{bough::emulated{std::move(transport), cluster}};
        int word = comm.rank() == 0 ? 42 : 0;
        if (comm.rank() == 0) begin = comm.transport().now_ns();
        bough::broadcast(comm, std::span(&word, 1), bough::root{0}, over);
        const std::uint64_t now = comm.transport().now_ns();
        for (std::uint64_t last = end; last < now && !end.compare_exchange_weak(last, now);) {
        }
        if (word != 42) std::puts("wrong");
    });
    return end - begin;
}

int main() {
    const bough::tree_costs<double> costs{.send = send_ns, .latency = latency_ns};
    const bough::table naive{bough::tree{bough::binomial{}, 8}}, fnf = bough::fnf_tree(costs);
    const double least = broadcast_time(naive, costs), best = broadcast_time(fnf, costs);
    std::printf("the model: binomial %.1f ms, fnf %.1f ms\n", least / 1e6, best / 1e6);
    // An emulated run takes no less; how much more depends on the machine.
    const std::uint64_t slow = measured_ns(naive), fast = measured_ns(fnf);
    std::printf("binomial no faster than that: %s\n", static_cast<double>(slow) >= least ? "yes" : "no");
    std::printf("fnf no faster than that: %s\n", static_cast<double>(fast) >= best ? "yes" : "no");
}
