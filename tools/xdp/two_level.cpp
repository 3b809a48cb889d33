// SPDX-License-Identifier: BSL-1.0
// Timing two-level reductions, whose upper level is run by hosts or by NICs.
#include "two_level.hpp"

#include "nic.hpp"
#include "samples.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/barrier.hpp>
#include <bough/communicator.hpp>
#include <bough/group.hpp>
#include <bough/launch.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/nic/run/two_level.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sched.h>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <type_traits>
#include <vector>

namespace xdp {

namespace {

using bough::rank_t;
namespace nics = bough::nic;

std::vector<nics::program> programs_of(const auto& plan, const nics::needs& op, const nics::capabilities& target,
                                       bool credits) {
    auto made = nics::assemble_all(plan, op, target, {.banks = 4, .credits = credits});
    if (!made) throw std::runtime_error("no programs: " + std::string(nics::describe(made.why.reason)));
    return made.programs;
}

// A rank's NIC, as two_level wants an upper program: start() is the doorbell, what has come is in memory.
class nic_program {
public:
    nic_program(const nic& on, rank_t node) : on_(on), node_(node) {}
    std::uint32_t input_count() const noexcept { return 1; }
    std::uint32_t started() const noexcept { return rung_; }
    bough::status start(std::span<const double> mine) {
        const word bits = std::bit_cast<word>(mine[0]);
        on_.ring(node_, rung_++, std::span(&bits, 1));
        return {};
    }
    bool poll() const noexcept { return done(rung_ - 1); }
    bool done(std::uint32_t instance) const noexcept { return on_.told(node_) > instance; }
    const bough::status& error() const noexcept { return error_; }
    void abort(const bough::status& why) noexcept { error_ = why; } // the NICs of others are told nothing
    const bough::status& wait(std::uint32_t instance) {
        const word last = now_ns() + 10'000'000'000;
        while (!done(instance) && !error_) {
            sched_yield();
            if (now_ns() > last) error_ = {.code = bough::errc::deadline};
        }
        return error_;
    }
    std::span<const double> result(std::uint32_t instance) {
        result_ = std::bit_cast<double>(word{on_.completion_of(node_).result[instance & 3][0]});
        return {&result_, 1};
    }

private:
    const nic& on_;
    rank_t node_;
    std::uint32_t rung_ = 0;
    double result_ = 0;
    bough::status error_{};
};

// `on`: null if hosts run the upper level. From the last clock that was read before entering, until the root's host has it.
std::vector<double> measured_us(const nic* on, rank_t nodes, rank_t per_node, unsigned samples) {
    const auto host_op = nics::needs_of<bough::plus, double>;
    const auto local_programs = programs_of(bough::plan_reduce(bough::flat{}, {.size = per_node}), host_op,
                                            nics::capabilities_of<nics::host>, true);
    const auto upper_programs = programs_of(bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = nodes}), host_op,
                                            nics::capabilities_of<nics::host>, true);
    void* memory = mmap(nullptr, samples * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    auto* const us = static_cast<double*>(memory);
    const bough::launch_report report = bough::launch(nodes * per_node, [&](bough::job job) {
        bough::communicator comm{bough::shared_memory{job}};
        auto node = bough::split(comm, comm.rank() / per_node);
        auto heads = bough::split(comm, node.rank() == 0 ? 0 : 1);
        nics::host_nic inside{node}, between{heads};
        auto local = nics::load<double>(inside, local_programs[node.rank()], bough::plus{});
        const double mine = comm.rank() + 1.0, all = comm.size() * (comm.size() + 1.0) / 2;
        const auto run = [&](auto* upper) {
            nics::two_level both{local, upper};
            for (unsigned e = 0; e != samples; ++e) {
                bough::barrier(comm);
                word entered = now_ns();
                if (both.start(std::span(&mine, 1)) || both.wait()) return 1;
                const word ended = now_ns();
                bough::reduce(comm, std::span(&entered, 1), bough::max{}, bough::root{0});
                if (comm.rank() != 0) continue;
                if (both.result()[0] != all) return 1;
                us[e] = static_cast<double>(ended - entered) / 1000;
            }
            return 0;
        };
        if (on != nullptr) {
            nic_program upper{*on, comm.rank() / per_node};
            return run(node.rank() == 0 ? &upper : nullptr);
        }
        using upper_type = nics::host_program<double, bough::plus, std::remove_cvref_t<decltype(comm.transport())>>;
        if (node.rank() != 0) return run(static_cast<upper_type*>(nullptr));
        auto upper = nics::load<double>(between, upper_programs[heads.rank()], bough::plus{});
        return run(&upper);
    });
    std::vector<double> found(us, us + samples);
    munmap(memory, samples * sizeof(double));
    if (!report.ok()) throw std::runtime_error(bough::describe(report));
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

void print_two_level(const std::string& object, const network& net, unsigned samples) {
    std::printf("two-level reduce, one double, 4-nomial tree of the nodes, %u reductions; us\n"
                "%-5s %-22s %5s %9s | %9s %9s %9s %9s\n",
                samples, "cores", "upper level", "nodes", "per node", "p50", "mean 99%", "sd 99%", "p99");
    for (const bool busy : {false, true}) {
        const std::vector<child> loops = busy ? busy_loops() : std::vector<child>{};
        for (const bool by_nic : {false, true})
            for (const rank_t nodes : {2u, 4u, 8u, 16u})
                for (const rank_t per_node : {1u, 2u}) {
                    std::unique_ptr<nic> on;
                    if (by_nic) {
                        on = std::make_unique<nic>(object, "nic_xdp_f64x1", net);
                        on->install(programs_of(bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = nodes}),
                                                nics::needs_of<bough::soft_plus<bough::f64_bits>, double>,
                                                nics::capabilities_of<nics::xdp>, false));
                    }
                    const std::vector<double> us = measured_us(on.get(), nodes, per_node, samples);
                    const spread trimmed = spread_of(std::span(us).first(us.size() * 99 / 100));
                    std::printf("%-5s %-22s %5u %9u | %9.1f %9.1f %9.1f %9.1f\n", busy ? "busy" : "idle",
                                by_nic ? "NICs (XDP)" : "hosts (shared memory)", nodes, per_node, us[us.size() / 2],
                                trimmed.mean, trimmed.deviation, us[us.size() * 99 / 100]);
                    std::fflush(stdout);
                }
    }
}

} // namespace xdp
