// SPDX-License-Identifier: BSL-1.0
// The NIC, as Linux has one: bough's machine in the receive path of a driver. Compiled with clang++ -target bpf, from the very
// headers that hosts use.
//
//   nic_xdp_*    XDP, in the driver, before there is a packet: the frame that came leaves as the one that it set free
//   nic_tc_*     traffic control at ingress: clones leave, as many as the program sends
//   fabric       the switch: by the last byte of the address, or to all others; what lies about its sender is dropped
//   fabric_tap*  the same, and sums up all messages of NICs for test/nic/conformance.hpp
//
// A rank's frames come in on one queue, one at a time, so there is no lock. Doubles are added by integers (soft_float.hpp).
#include "kernel.hpp"
#include "layout.hpp"
#include "nic/conformance.hpp"
#include <bough/op/soft_float.hpp>

namespace nic = bough::nic;
using nic::u32;
using xdp::word;

// libbpf finds maps by the names and types of these members.
extern "C" {
struct device_maps {
    int (*type)[kernel::array_map];
    int (*max_entries)[xdp::most_ranks];
    int (*key_size)[sizeof(u32)];
    int (*value_size)[sizeof(xdp::device)];
};
struct completion_maps {
    int (*type)[kernel::array_map];
    int (*max_entries)[xdp::most_ranks];
    int (*key_size)[sizeof(u32)];
    int (*value_size)[sizeof(xdp::completion)];
    int (*map_flags)[kernel::mappable];
};
struct port_maps {
    int (*type)[kernel::device_map];
    int (*max_entries)[xdp::most_ranks];
    int (*key_size)[sizeof(u32)];
    int (*value_size)[sizeof(u32)];
};
struct tap_maps {
    int (*type)[kernel::array_map];
    int (*max_entries)[1];
    int (*key_size)[sizeof(u32)];
    int (*value_size)[sizeof(word)];
    int (*map_flags)[kernel::mappable];
};
BPF_SECTION(".maps") device_maps devices;
BPF_SECTION(".maps") completion_maps completions;
BPF_SECTION(".maps") port_maps ports;
BPF_SECTION(".maps") tap_maps tapped;

BPF_SECTION("license") char license_text[] = "Boost Software License 1.0";

// Not inlined: the verifier looks at it once, not once per step.
[[gnu::noinline, gnu::flatten]] word add_f64(word a, word b) { return bough::f64_bits::add(a, b); }
}

namespace {

struct add_i64 {
    [[gnu::always_inline]] word operator()(word a, word b) const { return a + b; }
};
struct take_lower { // no op: what messages alone cost
    [[gnu::always_inline]] word operator()(word a, word) const { return a; }
};
struct soft_add_f64 {
    [[gnu::always_inline]] word operator()(word a, word b) const { return add_f64(a, b); }
};

// --- What the machine asks for: where frames leave, and where the host is told --------------------------------------

template <u32 Elements>
struct host_port {
    xdp::completion* done;
    [[gnu::always_inline]] void notify(u32 epoch, const word* result, u32 count) {
        if (count != 0)
            for (u32 k = 0; k != Elements; ++k) done->result[epoch & 3][k] = result[k];
        done->stamp_ns[epoch & 3] = kernel::monotonic_ns();
        // In BPF an atomic operation that gives a value is ordered with all others, on every processor: who sees this sees
        // the result. One whose value nobody uses is not.
        const word before = __sync_fetch_and_add(&done->told, 1);
        asm volatile("" : : "r"(before));
    }
};

[[gnu::always_inline]] inline void address(xdp::frame& f, const nic::message& m) {
    f.to[0] = m.to == nic::everyone ? 3 : 2;
    f.to[5] = static_cast<unsigned char>(m.to);
    f.head = m;
}

// XDP: the frame that came is the one that leaves.
template <u32 Elements>
struct xdp_port : host_port<Elements> {
    xdp::frame* in_place;
    u32* sent;
    [[gnu::always_inline]] void send(const nic::message& m, const word* payload) {
        if ((*sent)++ != 0) { // assemble sees to it that this is not so
            ++this->done->dropped;
            return;
        }
        address(*in_place, m);
        word* to = reinterpret_cast<word*>(in_place + 1);
        if (m.count != 0)
            for (u32 k = 0; k != Elements; ++k) to[k] = payload[k];
    }
};

// Traffic control: the packet that came is written anew for each one that leaves, and sent as a clone.
template <u32 Elements>
struct tc_port : host_port<Elements> {
    kernel::packet_context* packet;
    [[gnu::always_inline]] void send(const nic::message& m, const word* payload) {
        xdp::frame f{{2, 0, 0, 0, 0, 0}, {2, 0, 0, 0, 0, 0}, {xdp::type_high, xdp::type_low}, {0, 0}, {}};
        address(f, m);
        bool bad = kernel::store_bytes(packet, 0, &f, sizeof f, 0) != 0;
        if (m.count != 0) bad = bad || kernel::store_bytes(packet, sizeof f, payload, Elements * sizeof(word), 0) != 0;
        if (bad || kernel::clone_redirect(packet, packet->ifindex, 0) != 0) ++this->done->dropped;
    }
};

// --- One arrival ----------------------------------------------------------------------------------------------------

using bank = nic::fixed_bank<xdp::room, word>;

// What a step gets to see. Pointers only: numbers that a loop changes would be followed through every one of its rounds by
// the verifier if they were on the stack; in a map it takes them for unknown.
template <class Port>
struct work {
    xdp::device* device;
    bank* memory;
    Port port;
};
template <u32 Elements, class Op, class Port>
long next_step([[maybe_unused]] u32 i, void* context) {
    auto& w = *static_cast<work<Port>*>(context);
    return nic::run_step<Elements>(w.device->program, *w.memory, w.device->todo, Op{}, w.port) ? 0 : 1;
}
template <class Port>
long next_counter(u32 i, void* context) {
    auto& w = *static_cast<work<Port>*>(context);
    if (i >= w.device->program.head.counters) return 1;
    nic::add_early(w.device->program, *w.memory, w.device->todo, static_cast<nic::u16>(i));
    return 0;
}

// Rounds of a loop over steps: each runs one, or finds a counter for which none waits.
constexpr u32 most_steps = xdp::room.steps + xdp::room.counters;

template <u32 Elements, class Op, class Port>
[[gnu::always_inline]] inline void arrive(const xdp::frame& f, work<Port>& w) {
    xdp::device& d = *w.device;
    const nic::message m = f.head;
    d.todo = {};
    const nic::answer what =
        nic::take<Elements>(d.program, d.state, m, reinterpret_cast<const word*>(&f + 1), d.todo, Op{}, w.port);
    ++w.port.done->answers[static_cast<u32>(what) & 7];
    if (d.todo.step == d.todo.end) return;
    w.memory = &d.state.banks[m.epoch & ((1u << d.program.head.bank_bits) - 1)];
    kernel::loop(most_steps, next_step<Elements, Op, Port>, &w);
    if (!nic::next_turn(d.program, *w.memory)) return;
    kernel::loop(xdp::room.counters, next_counter<Port>, &w);
    kernel::loop(most_steps, next_step<Elements, Op, Port>, &w);
}

[[gnu::always_inline]] inline bool is_ours(const xdp::frame& f) {
    return f.type[0] == xdp::type_high && f.type[1] == xdp::type_low;
}

template <u32 Elements, class Op>
[[gnu::always_inline]] inline int in_driver(kernel::xdp_context* context) {
    auto* begin = reinterpret_cast<unsigned char*>(static_cast<unsigned long>(context->data));
    auto* end = reinterpret_cast<unsigned char*>(static_cast<unsigned long>(context->data_end));
    if (begin + sizeof(xdp::frame) + Elements * sizeof(word) > end) return int(kernel::xdp_action::pass);
    auto* f = reinterpret_cast<xdp::frame*>(begin);
    if (!is_ours(*f)) return int(kernel::xdp_action::pass);
    const u32 rank = context->ingress_ifindex - xdp::first_interface;
    auto* d = static_cast<xdp::device*>(kernel::map_lookup(&devices, &rank));
    auto* done = static_cast<xdp::completion*>(kernel::map_lookup(&completions, &rank));
    if (d == nullptr || done == nullptr) return int(kernel::xdp_action::aborted);
    d->sent = 0;
    work<xdp_port<Elements>> w{d, nullptr, {{done}, f, &d->sent}};
    arrive<Elements, Op>(*f, w);
    return int(d->sent != 0 ? kernel::xdp_action::tx : kernel::xdp_action::drop);
}

template <u32 Elements, class Op>
[[gnu::always_inline]] inline int at_ingress(kernel::packet_context* context) {
    constexpr u32 length = sizeof(xdp::frame) + Elements * sizeof(word);
    if (kernel::pull_data(context, length) != 0) return int(kernel::tc_action::ok);
    auto* begin = reinterpret_cast<unsigned char*>(static_cast<unsigned long>(context->data));
    auto* end = reinterpret_cast<unsigned char*>(static_cast<unsigned long>(context->data_end));
    if (begin + length > end) return int(kernel::tc_action::ok);
    auto* f = reinterpret_cast<xdp::frame*>(begin);
    if (!is_ours(*f)) return int(kernel::tc_action::ok);
    const u32 rank = context->ifindex - xdp::first_interface;
    auto* d = static_cast<xdp::device*>(kernel::map_lookup(&devices, &rank));
    auto* done = static_cast<xdp::completion*>(kernel::map_lookup(&completions, &rank));
    if (d == nullptr || done == nullptr) return int(kernel::tc_action::ok);
    work<tc_port<Elements>> w{d, nullptr, {{done}, context}};
    arrive<Elements, Op>(*f, w);
    return int(kernel::tc_action::drop);
}

template <u32 Elements, bool Taps>
[[gnu::always_inline]] inline int in_switch(kernel::xdp_context* context) {
    auto* begin = reinterpret_cast<unsigned char*>(static_cast<unsigned long>(context->data));
    auto* end = reinterpret_cast<unsigned char*>(static_cast<unsigned long>(context->data_end));
    if (begin + sizeof(xdp::frame) + Elements * sizeof(word) > end) return int(kernel::xdp_action::drop);
    auto* f = reinterpret_cast<xdp::frame*>(begin);
    if (!is_ours(*f)) return int(kernel::xdp_action::drop);
    // Inlets trust what a frame says of its sender, so the port does not: nobody rings another's bell.
    if (f->head.from != context->ingress_ifindex - xdp::first_interface - xdp::most_ranks)
        return int(kernel::xdp_action::drop);
    if constexpr (Taps) {
        const u32 first = 0;
        auto* sum = static_cast<word*>(kernel::map_lookup(&tapped, &first));
        if (sum != nullptr && f->head.inlet != nic::bell_inlet) {
            word h = conformance::of_head(f->head);
            if (f->head.count != 0)
                for (u32 k = 0; k != Elements; ++k) h = conformance::mixed(h ^ reinterpret_cast<const word*>(f + 1)[k]);
            __sync_fetch_and_add(sum, h); // frames come in on several processors
        }
    }
    if ((f->to[0] & 1) != 0)
        return static_cast<int>(kernel::redirect_map(&ports, 0, kernel::broadcast | kernel::exclude_ingress));
    return static_cast<int>(kernel::redirect_map(&ports, f->to[5], 0));
}

} // namespace

extern "C" {

BPF_SECTION("xdp") int nic_xdp_i64x1(kernel::xdp_context* context) { return in_driver<1, add_i64>(context); }
BPF_SECTION("xdp") int nic_xdp_i64x8(kernel::xdp_context* context) { return in_driver<8, add_i64>(context); }
BPF_SECTION("xdp") int nic_xdp_exact(kernel::xdp_context* context) { return in_driver<68, add_i64>(context); }
BPF_SECTION("xdp") int nic_xdp_f64x1(kernel::xdp_context* context) { return in_driver<1, soft_add_f64>(context); }
BPF_SECTION("xdp") int nic_xdp_f64x8(kernel::xdp_context* context) { return in_driver<8, soft_add_f64>(context); }

BPF_SECTION("xdp") int nic_xdp_i64x2(kernel::xdp_context* context) { return in_driver<2, add_i64>(context); }
BPF_SECTION("xdp") int nic_xdp_f64x2(kernel::xdp_context* context) { return in_driver<2, soft_add_f64>(context); }
BPF_SECTION("xdp") int nic_xdp_nopx1(kernel::xdp_context* context) { return in_driver<1, take_lower>(context); }
BPF_SECTION("xdp") int nic_xdp_nopx2(kernel::xdp_context* context) { return in_driver<2, take_lower>(context); }

BPF_SECTION("tc") int nic_tc_i64x1(kernel::packet_context* context) { return at_ingress<1, add_i64>(context); }
BPF_SECTION("tc") int nic_tc_i64x8(kernel::packet_context* context) { return at_ingress<8, add_i64>(context); }
BPF_SECTION("tc") int nic_tc_exact(kernel::packet_context* context) { return at_ingress<68, add_i64>(context); }
BPF_SECTION("tc") int nic_tc_f64x1(kernel::packet_context* context) { return at_ingress<1, soft_add_f64>(context); }
BPF_SECTION("tc") int nic_tc_f64x8(kernel::packet_context* context) { return at_ingress<8, soft_add_f64>(context); }

BPF_SECTION("xdp") int fabric(kernel::xdp_context* context) { return in_switch<0, false>(context); }
BPF_SECTION("xdp") int fabric_tap_x1(kernel::xdp_context* context) { return in_switch<1, true>(context); }
BPF_SECTION("xdp") int fabric_tap_x8(kernel::xdp_context* context) { return in_switch<8, true>(context); }

// An interface takes redirected frames only if it has a program itself; where tc does the work, this is it.
BPF_SECTION("xdp") int pass([[maybe_unused]] kernel::xdp_context* context) { return int(kernel::xdp_action::pass); }
}
