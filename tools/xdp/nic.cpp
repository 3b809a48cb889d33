// SPDX-License-Identifier: BSL-1.0
// Loading and attaching the programs, writing their tables, ringing their doorbells.
#include "nic.hpp"

#include <bough/nic/capabilities.hpp>
#include <bough/nic/machine.hpp>
#include <bough/nic/wire.hpp>

#include <atomic>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <linux/if_link.h>
#include <sys/mman.h>
#include <system_error>

namespace xdp {

namespace {

// What assemble believes of these NICs is what they are.
constexpr bool is_told_of(const bough::nic::capabilities& c) {
    return c.ranks == most_ranks && c.steps == room.steps && c.slots == room.slots && c.counters == room.counters &&
           c.inlets == room.inlets && c.banks == room.banks && c.elements_per_bank == room.elements &&
           c.element_bytes == sizeof(word) && c.message_bytes == most_elements * sizeof(word) &&
           c.memory_bytes == room.banks * room.elements * sizeof(word);
}
static_assert(is_told_of(bough::nic::xdp::limits), "nic::xdp is another NIC than the one in layout.hpp");
static_assert(is_told_of(bough::nic::tc::limits), "nic::tc is another NIC than the one in layout.hpp");

int checked(int result, const char* what) {
    if (result < 0) throw std::system_error(-result, std::generic_category(), what);
    return result;
}

bpf_program* find(bpf_object* object, const std::string& name) {
    bpf_program* found = bpf_object__find_program_by_name(object, name.c_str());
    if (found == nullptr) throw std::system_error(ENOENT, std::generic_category(), name);
    return found;
}

int map_fd(bpf_object* object, const char* name) {
    return checked(bpf_object__find_map_fd_by_name(object, name), name);
}

bpf_prog_info info_of(const bpf_program* program) {
    bpf_prog_info info{};
    std::uint32_t size = sizeof info;
    checked(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), "what the kernel says of a program");
    return info;
}

bpf_tc_hook ingress_of(int interface) {
    bpf_tc_hook hook{};
    hook.sz = sizeof hook;
    hook.ifindex = interface;
    hook.attach_point = BPF_TC_INGRESS;
    return hook;
}

unsigned elements_of(const std::string& program) {
    if (program.ends_with("x1")) return 1;
    if (program.ends_with("x2")) return 2;
    if (program.ends_with("x8")) return 8;
    return most_elements;
}

} // namespace

nic::nic(const std::string& object, const std::string& program, const network& net, bool taps)
    : net_(net), object_(bpf_object__open(object.c_str()), bpf_object__close), elements_(elements_of(program)),
      is_xdp_(program.starts_with("nic_xdp")) {
    if (!object_) throw std::system_error(errno, std::generic_category(), object);
    main_ = find(object_.get(), program);
    fabric_ = find(object_.get(), !taps ? "fabric" : elements_ == 1 ? "fabric_tap_x1" : "fabric_tap_x8");
    pass_ = find(object_.get(), "pass");
    bpf_program* each = nullptr;
    bpf_object__for_each_program(each, object_.get())
        bpf_program__set_autoload(each, each == main_ || each == fabric_ || each == pass_);
    const auto begin = std::chrono::steady_clock::now();
    checked(bpf_object__load(object_.get()), "loading programs into the kernel");
    report_.load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    const bpf_prog_info info = info_of(main_);
    report_.instructions = info.xlated_prog_len / 8;
    report_.machine_bytes = info.jited_prog_len;
    report_.verified_instructions = info.verified_insns;
    void* mapped = mmap(nullptr, most_ranks * sizeof(completion), PROT_READ | PROT_WRITE, MAP_SHARED,
                        map_fd(object_.get(), "completions"), 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    completions_.reset(static_cast<completion*>(mapped));
    attach();
}

void nic::unmap::operator()(completion* all) const noexcept { munmap(all, most_ranks * sizeof(completion)); }

std::uint64_t nic::told(unsigned rank) const noexcept {
    return std::atomic_ref<word>(completions_.get()[rank].told).load(std::memory_order_acquire);
}

// Whatever fails, what was attached until then is taken off by attached_.
void nic::attach() {
    constexpr unsigned flags = XDP_FLAGS_DRV_MODE | XDP_FLAGS_UPDATE_IF_NOEXIST;
    const auto in_driver = [&](int interface, const bpf_program* program, const char* what) {
        checked(bpf_xdp_attach(interface, bpf_program__fd(program), flags, nullptr), what);
    };
    for (unsigned r = 0; r != net_.ranks(); ++r) {
        const int port = network::switch_interface(r), interface = network::rank_interface(r);
        in_driver(port, fabric_, "the switch's program");
        attached_.add([port] { bpf_xdp_detach(port, XDP_FLAGS_DRV_MODE, nullptr); });
        const auto take_off_in_rank = [&](void (*f)(int)) {
            attached_.add([this, r, f] { net_.in_rank(r, [&] { f(network::rank_interface(r)); }); });
        };
        net_.in_rank(r, [&] {
            in_driver(interface, is_xdp_ ? main_ : pass_, "a program in the driver");
            take_off_in_rank([](int at) { bpf_xdp_detach(at, XDP_FLAGS_DRV_MODE, nullptr); });
            if (is_xdp_) return;
            bpf_tc_hook hook = ingress_of(interface);
            checked(bpf_tc_hook_create(&hook), "a hook of traffic control");
            take_off_in_rank([](int at) {
                bpf_tc_hook made = ingress_of(at);
                made.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
                bpf_tc_hook_destroy(&made); // and what is attached to it
            });
            bpf_tc_opts options{};
            options.sz = sizeof options;
            options.prog_fd = bpf_program__fd(main_);
            checked(bpf_tc_attach(&hook, &options), "a program at ingress");
        });
    }
}

void nic::install(std::span<const bough::nic::program> programs) {
    const int devices = map_fd(object_.get(), "devices"), ports = map_fd(object_.get(), "ports");
    programs_.assign(programs.begin(), programs.end());
    for (const bough::nic::program& p : programs) {
        if (programs.size() > net_.ranks() || !bough::nic::fits(p.head, room))
            throw std::system_error(E2BIG, std::generic_category(), "a table");
        for (const bough::nic::slot& s : p.slots)
            if (s.count != 0 && s.count != elements_)
                throw std::system_error(EINVAL, std::generic_category(), "a slot of another length");
    }
    std::memset(static_cast<void*>(completions_.get()), 0, most_ranks * sizeof(completion));
    const std::uint32_t first = 0;
    const std::uint64_t none = 0;
    checked(bpf_map_update_elem(map_fd(object_.get(), "tapped"), &first, &none, BPF_ANY), "the tap");
    for (std::uint32_t r = 0; r != net_.ranks(); ++r) {
        bpf_map_delete_elem(ports, &r); // a multicast goes to the ranks that take part
        if (r >= programs.size()) continue;
        const std::uint32_t port = static_cast<std::uint32_t>(network::switch_interface(r));
        checked(bpf_map_update_elem(ports, &r, &port, BPF_ANY), "a port of the switch");
        const auto d = std::make_unique<device>();
        d->program = bough::nic::fix<room>(programs[r]);
        bough::nic::start(d->program, d->state);
        checked(bpf_map_update_elem(devices, &r, d.get(), BPF_ANY), "a table");
    }
}

void nic::ring(unsigned rank, std::uint32_t epoch, std::span<const word> input) const {
    struct {
        frame head;
        word payload[most_elements];
    } f{};
    const bough::nic::header& h = programs_[rank].head;
    f.head.to[0] = f.head.from[0] = 2;
    f.head.to[5] = f.head.from[5] = static_cast<unsigned char>(rank);
    f.head.type[0] = type_high, f.head.type[1] = type_low;
    f.head.head = {h.stream, epoch, h.rank, h.rank, bough::nic::bell_inlet, static_cast<std::uint16_t>(input.size())};
    std::memcpy(f.payload, input.data(), input.size_bytes());
    net_.send(rank, std::as_bytes(std::span(&f, 1)).first(sizeof(frame) + elements_ * sizeof(word)));
}

std::uint64_t nic::tapped() const {
    const std::uint32_t first = 0;
    std::uint64_t sum = 0;
    checked(bpf_map_lookup_elem(map_fd(object_.get(), "tapped"), &first, &sum), "the tap");
    return sum;
}

program_time nic::time_of(const bpf_program* program) {
    const bpf_prog_info info = info_of(program);
    return {info.run_time_ns, info.run_cnt};
}

} // namespace xdp
