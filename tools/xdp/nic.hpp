// SPDX-License-Identifier: BSL-1.0
// The kernel's programs, loaded and attached: one kind of NIC on all ranks of a network.
//
//   xdp::nic nic("nic.bpf.o", "nic_xdp_f64x1", net);
//   nic.install(programs);                                    tables from nic::assemble_all, all counters at their start
//   nic.ring(rank, epoch, input);                             the host enters an instance
//   nic.completion_of(rank).told
//
// Errors: std::system_error; std::errc::operation_not_permitted where the kernel refuses BPF to this process.
#ifndef BOUGH_TOOLS_XDP_NIC_HPP
#define BOUGH_TOOLS_XDP_NIC_HPP

#include "layout.hpp"
#include "network.hpp"
#include <bough/nic/assembled.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct bpf_object;
struct bpf_program;

namespace xdp {

// What the kernel says of a program.
struct program_report {
    unsigned instructions = 0;          // of BPF
    unsigned machine_bytes = 0;         // after the compiler in the kernel
    unsigned verified_instructions = 0; // that the verifier went through
    double load_ms = 0;
};
struct program_time {
    std::uint64_t ns = 0, runs = 0;
};

// Takes off what was attached, last first.
class attachments {
public:
    attachments() = default;
    attachments(const attachments&) = delete;
    attachments& operator=(const attachments&) = delete;
    ~attachments() {
        for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
    }
    void add(std::function<void()> undo) { undo_.push_back(std::move(undo)); }

private:
    std::vector<std::function<void()>> undo_{};
};

class nic {
public:
    // The network's interfaces have no programs: one nic at a time. `taps`: the switch sums up messages (test/nic/conformance.hpp).
    nic(const std::string& object, const std::string& program, const network& net, bool taps = false);
    nic(const nic&) = delete;
    nic& operator=(const nic&) = delete;

    const program_report& report() const noexcept { return report_; }
    // Elements of every message that is not empty.
    unsigned elements() const noexcept { return elements_; }
    bool is_xdp() const noexcept { return is_xdp_; }

    // Pre: tables that fit xdp::room, in which every slot has elements() elements, or none.
    void install(std::span<const bough::nic::program> programs);
    void ring(unsigned rank, std::uint32_t epoch, std::span<const word> input) const;
    // Of how many instances a host was told. What it was given of them can be read.
    std::uint64_t told(unsigned rank) const noexcept;
    const volatile completion& completion_of(unsigned rank) const noexcept { return completions_.get()[rank]; }
    // The sum of what conformance::of_message says of every message since install.
    std::uint64_t tapped() const;
    // So far, while statistics are on.
    program_time time() const { return time_of(main_); }
    program_time switch_time() const { return time_of(fabric_); }

private:
    static program_time time_of(const bpf_program* program);
    void attach();

    const network& net_;
    std::unique_ptr<bpf_object, void (*)(bpf_object*)> object_;
    bpf_program *main_ = nullptr, *fabric_ = nullptr, *pass_ = nullptr;
    unsigned elements_ = 0;
    bool is_xdp_ = false;
    program_report report_{};
    struct unmap {
        void operator()(completion* all) const noexcept;
    };
    std::unique_ptr<completion, unmap> completions_{}; // of all ranks
    std::vector<bough::nic::program> programs_{};
    attachments attached_{};
};

} // namespace xdp

#endif
