// SPDX-License-Identifier: BSL-1.0
#include "nic.hpp"

#include <bough/nic/machine.hpp>

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
    if (program.ends_with("x8")) return 8;
    return most_elements;
}

} // namespace

nic::nic(const std::string& object, const std::string& program, const network& net)
    : net_(net), object_(bpf_object__open(object.c_str()), bpf_object__close), elements_(elements_of(program)),
      is_xdp_(program.starts_with("nic_xdp")) {
    if (!object_) throw std::system_error(errno, std::generic_category(), object);
    main_ = find(object_.get(), program);
    fabric_ = find(object_.get(), "fabric");
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
    completions_ = static_cast<completion*>(mapped);
    attach();
}

nic::~nic() {
    munmap(completions_, most_ranks * sizeof(completion));
    for (unsigned r = 0; r != net_.ranks(); ++r) {
        bpf_xdp_detach(network::switch_interface(r), XDP_FLAGS_DRV_MODE, nullptr);
        net_.in_rank(r, [&] {
            bpf_xdp_detach(network::rank_interface(r), XDP_FLAGS_DRV_MODE, nullptr);
            if (is_xdp_) return;
            bpf_tc_hook hook = ingress_of(network::rank_interface(r));
            hook.attach_point = static_cast<bpf_tc_attach_point>(BPF_TC_INGRESS | BPF_TC_EGRESS);
            bpf_tc_hook_destroy(&hook); // and what is attached to it
        });
    }
}

void nic::attach() {
    for (unsigned r = 0; r != net_.ranks(); ++r) {
        checked(bpf_xdp_attach(network::switch_interface(r), bpf_program__fd(fabric_), XDP_FLAGS_DRV_MODE, nullptr),
                "the switch's program");
        net_.in_rank(r, [&] {
            const int interface = network::rank_interface(r);
            checked(bpf_xdp_attach(interface, bpf_program__fd(is_xdp_ ? main_ : pass_), XDP_FLAGS_DRV_MODE, nullptr),
                    "a program in the driver");
            if (is_xdp_) return;
            bpf_tc_hook hook = ingress_of(interface);
            checked(bpf_tc_hook_create(&hook), "a hook of traffic control");
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
    for (const bough::nic::program& p : programs)
        if (p.head.elements > room.elements || p.head.steps > room.steps || p.head.inlets > room.inlets)
            throw std::system_error(E2BIG, std::generic_category(), "a table");
    std::memset(static_cast<void*>(completions_), 0, most_ranks * sizeof(completion));
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

program_time nic::time_of(const bpf_program* program) {
    const bpf_prog_info info = info_of(program);
    return {info.run_time_ns, info.run_cnt};
}

} // namespace xdp
