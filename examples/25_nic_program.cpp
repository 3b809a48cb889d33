// SPDX-License-Identifier: BSL-1.0
// The same schedule on a NIC: a plan becomes tables, one per rank, that a machine without heap or headers runs. Proved while
// this compiles: whatever the order in which messages come, the result is that of rank order.
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/listing.hpp>
#include <bough/nic/prove.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

namespace nic = bough::nic;

// x -> a x + b, as a pair in one number: associative, and far from commutative.
struct compose {
    constexpr std::uint32_t operator()(std::uint32_t f, std::uint32_t g) const {
        return (f >> 16) * (g >> 16) << 16 | (((f & 0xffff) * (g >> 16) + (g & 0xffff)) & 0xffff);
    }
};
template <>
inline constexpr bool bough::is_integer_only_v<compose, std::uint32_t> = true; // else a core without FPU refuses

constexpr auto plan = bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = 9});
constexpr std::vector<nic::program> programs() {
    return nic::assemble_all(plan, nic::needs_of<compose, std::uint32_t>, nic::capabilities_of<nic::riscv>).programs;
}
constexpr std::uint32_t brings(bough::rank_t rank) { return (rank + 2) << 16 | (rank + 1); }
constexpr auto input = [](bough::rank_t rank, std::span<std::uint32_t> mine) { mine[0] = brings(rank); };
constexpr nic::limits room = nic::limits_of(programs());

static_assert(nic::check(programs()));
static_assert(nic::prove_every_order<std::uint32_t, room>(programs(), compose{}, input));

struct hosts {
    void input(bough::rank_t rank, std::uint32_t, std::span<std::uint32_t> mine) { mine[0] = brings(rank); }
    void complete(bough::rank_t rank, std::uint32_t, std::span<const std::uint32_t> result) {
        if (rank == 0) std::cout << "the root's result: " << std::hex << result[0] << std::dec << '\n';
    }
};

int main() {
    std::cout << nic::listing(programs()[0]) << nic::listing(programs()[3]);
    std::uint32_t fold = brings(0);
    for (bough::rank_t r = 1; r != plan.size(); ++r) fold = compose{}(fold, brings(r));
    std::cout << "in order of ranks: " << std::hex << fold << std::dec << '\n';
    const bough::model::lrc network{
        .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 3000, .copy = {}};
    const auto run = nic::run_simulated<std::uint32_t>(programs(), compose{}, network, hosts{});
    std::cout << "after " << run.finish_ns[0] << " ns, " << run.messages << " messages\n";

    const auto no = nic::assemble(plan, 0, nic::needs_of<bough::plus, double>, nic::capabilities_of<nic::riscv>);
    std::cout << "riscv, a sum of doubles: " << nic::to_string(no.why) << '\n';
}
