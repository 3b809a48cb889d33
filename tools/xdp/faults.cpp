// SPDX-License-Identifier: BSL-1.0
// Sending what must be refused, and looking at what the NICs have kept.
#include "faults.hpp"

#include "nic.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/tree/flat.hpp>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <linux/if_link.h>
#include <sched.h>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace xdp {

namespace {

namespace bnic = bough::nic;

void expect(bool so, const char* otherwise) {
    if (!so) throw std::runtime_error(otherwise);
}

std::vector<bnic::program> star(unsigned ranks, std::uint32_t elements, std::uint32_t banks,
                                const bnic::capabilities& target) {
    auto made = bnic::assemble_all(bough::plan_reduce(bough::flat{}, {.size = ranks}),
                                   bnic::needs_of<bough::plus, std::uint64_t>, target,
                                   {.elements = elements, .banks = banks, .credits = false});
    expect(bool(made), "a flat tree was refused");
    return made.programs;
}

template <class Done>
void wait_until(Done&& done, const char* otherwise) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!done()) {
        expect(std::chrono::steady_clock::now() < deadline, otherwise);
        sched_yield();
    }
}

// A bell for one rank, out of the interface of another.
void ring_from(const network& net, unsigned port, unsigned from, unsigned to) {
    struct {
        frame head;
        word payload;
    } f{};
    f.head.to[0] = f.head.from[0] = 2;
    f.head.to[5] = static_cast<unsigned char>(to);
    f.head.from[5] = static_cast<unsigned char>(from);
    f.head.type[0] = type_high, f.head.type[1] = type_low;
    f.head.head = {0, 0, static_cast<bnic::u16>(from), static_cast<bnic::u16>(to), bnic::bell_inlet, 1};
    net.send(port, std::as_bytes(std::span(&f, 1)));
}

void check_senders(const std::string& object, const network& net) {
    nic on(object, "nic_xdp_i64x1", net);
    on.install(star(3, 1, 1, bnic::xdp::limits));
    const volatile completion& victim = on.completion_of(2);
    ring_from(net, 1, 2, 2); // rank 1 says that it is rank 2
    ring_from(net, 1, 1, 2); // and then the truth: the frame comes, and the inlet is not its own
    constexpr auto malformed = static_cast<unsigned>(bnic::answer::malformed);
    wait_until([&] { return victim.answers[malformed] != 0; }, "a frame with its true sender did not come");
    expect(victim.answers[0] == 0, "a rank has rung another's bell");
    const word mine = 1;
    on.ring(2, 0, std::span(&mine, 1));
    wait_until([&] { return victim.answers[0] == 1; }, "a host cannot ring its own bell");
}

void check_tables(const std::string& object, const network& net) {
    nic on(object, "nic_xdp_i64x8", net);
    const auto refused = [&](const std::vector<bnic::program>& programs, int code) {
        try {
            on.install(programs);
        } catch (const std::system_error& e) {
            return e.code().value() == code;
        }
        return false;
    };
    on.install(star(16, 8, 4, bnic::xdp::limits));
    expect(refused(star(16, 8, 8, bnic::host::limits), E2BIG), "a table with more banks than there are was taken");
    expect(refused(star(17, 8, 1, bnic::host::limits), E2BIG), "more tables than there are ranks were taken");
    expect(refused(star(16, 1, 1, bnic::xdp::limits), EINVAL), "slots of another length were taken");
}

bool has_program(int interface) {
    std::uint32_t id = 0;
    return bpf_xdp_query_id(interface, XDP_FLAGS_DRV_MODE, &id) == 0 && id != 0;
}

// The second NIC gets the free port of rank 0, and fails at its interface: it must leave the port as it was, and all else.
void check_attaching(const std::string& object, const network& net) {
    const int port = network::switch_interface(0);
    for (const char* kind : {"nic_xdp_i64x1", "nic_tc_i64x1"}) {
        nic first(object, kind, net);
        bpf_xdp_detach(port, XDP_FLAGS_DRV_MODE, nullptr);
        bool busy = false;
        try {
            const nic second(object, kind, net);
        } catch (const std::system_error& e) {
            busy = e.code().value() == EBUSY;
        }
        expect(busy, "two NICs have one interface");
        expect(!has_program(port), "a NIC that could not be made has left a program behind");
        expect(has_program(network::switch_interface(1)), "and has taken another's off");
    }
    expect(!has_program(network::switch_interface(1)), "a NIC that has ended has left a program behind");
    nic(object, "nic_tc_i64x1", net).install(star(16, 1, 1, bnic::tc::limits));
}

} // namespace

void check_faults(const std::string& object, const network& net) {
    check_senders(object, net);
    check_tables(object, net);
    check_attaching(object, net);
}

} // namespace xdp
