// SPDX-License-Identifier: BSL-1.0
// The kernel's side of BPF in C++: its helper functions by number, maps, and the contexts of the two kinds of program. The
// headers of libbpf and Linux are C that C++ does not take. Source: include/uapi/linux/bpf.h, whose numbers are fixed.
#ifndef BOUGH_TOOLS_XDP_KERNEL_HPP
#define BOUGH_TOOLS_XDP_KERNEL_HPP

#define BPF_SECTION(name) [[gnu::section(name), gnu::used]]

namespace kernel {

using u32 = unsigned int;
using u64 = unsigned long long;

// struct xdp_md
struct xdp_context {
    u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};
// struct __sk_buff, as far as it is needed
struct packet_context {
    u32 length, packet_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
    u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end;
};

enum class xdp_action : int { aborted, drop, pass, tx, redirect };
enum class tc_action : int { ok = 0, drop = 2 };

inline constexpr u64 broadcast = 1u << 3, exclude_ingress = 1u << 4; // of redirect_map

// A helper is called at the address that is its number.
template <class F>
F helper(u64 number) {
    return reinterpret_cast<F>(number);
}
[[gnu::always_inline]] inline void* map_lookup(void* map, const void* key) {
    return helper<void* (*)(void*, const void*)>(1)(map, key);
}
[[gnu::always_inline]] inline u64 monotonic_ns() { return helper<u64 (*)()>(5)(); }
[[gnu::always_inline]] inline long store_bytes(void* packet, u32 offset, const void* from, u32 size, u64 flags) {
    return helper<long (*)(void*, u32, const void*, u32, u64)>(9)(packet, offset, from, size, flags);
}
[[gnu::always_inline]] inline long clone_redirect(void* packet, u32 ifindex, u64 flags) {
    return helper<long (*)(void*, u32, u64)>(13)(packet, ifindex, flags);
}
[[gnu::always_inline]] inline long pull_data(void* packet, u32 size) {
    return helper<long (*)(void*, u32)>(39)(packet, size);
}
[[gnu::always_inline]] inline long redirect_map(void* map, u64 key, u64 flags) {
    return helper<long (*)(void*, u64, u64)>(51)(map, key, flags);
}
// Calls f(i, context) for i = 0, 1, ... until it returns 1, at most `times`. Linux 5.17.
[[gnu::always_inline]] inline long loop(u32 times, long (*f)(u32 i, void* context), void* context) {
    return helper<long (*)(u32, void*, void*, u64)>(181)(times, reinterpret_cast<void*>(f), context, 0);
}

inline constexpr int array_map = 2, device_map = 14, mappable = 1 << 10;

} // namespace kernel

#endif
