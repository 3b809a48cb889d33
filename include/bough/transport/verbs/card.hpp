// SPDX-License-Identifier: BSL-1.0
// Finds a port of an RDMA card (InfiniBand or RoCE), the address at which others reach it, and the
// path by which it reaches them.
#ifndef BOUGH_TRANSPORT_VERBS_CARD_HPP
#define BOUGH_TRANSPORT_VERBS_CARD_HPP

#include <bough/core/status.hpp>
#include <bough/transport/verbs/options.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <infiniband/verbs.h>
#include <memory>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

struct ibv_close {
    void operator()(ibv_context* x) const noexcept { ibv_close_device(x); }
    void operator()(ibv_pd* x) const noexcept { ibv_dealloc_pd(x); }
    void operator()(ibv_cq* x) const noexcept { ibv_destroy_cq(x); }
    void operator()(ibv_srq* x) const noexcept { ibv_destroy_srq(x); }
    void operator()(ibv_qp* x) const noexcept { ibv_destroy_qp(x); }
    void operator()(ibv_mr* x) const noexcept { ibv_dereg_mr(x); }
};
template <class T>
using unique_ibv = std::unique_ptr<T, ibv_close>;

// The address at which others reach a port, and what the port can do.
struct verbs_address {
    std::array<std::uint8_t, 16> gid{};
    std::uint64_t most_bytes = 0; // of one transfer
    std::uint32_t first_packet = 0;
    std::uint16_t lid = 0;
    std::uint8_t mtu = 0; // as libibverbs counts them: 1 is 256 bytes, 5 is 4096
    std::uint8_t unused = 0;
};
static_assert(std::is_trivially_copyable_v<verbs_address>);

struct verbs_port {
    unique_ibv<ibv_context> context{};
    std::uint8_t number = 0;
    int gid_index = 0;
    bool is_ethernet = false; // RoCE
    verbs_address address{};

    void reach(const verbs_address& there, std::uint8_t level, ibv_ah_attr& path) const noexcept {
        path = {};
        path.dlid = there.lid;
        path.sl = level;
        path.port_num = number;
        if (!is_ethernet && there.lid != 0) return; // one subnet of InfiniBand
        path.is_global = 1;
        std::memcpy(path.grh.dgid.raw, there.gid.data(), there.gid.size());
        path.grh.sgid_index = static_cast<std::uint8_t>(gid_index);
        path.grh.hop_limit = 64;
    }
};

// Chooses the entry of a port's address table that others shall use: one of RoCE v2 with an IPv4
// address if there is one, otherwise one of RoCE v2, otherwise the first.
inline int choose_gid(ibv_context* context, std::uint8_t port, int entries) noexcept {
    int best = 0, best_rank = 0;
    for (int i = 0; i != entries; ++i) {
        ibv_gid_entry e{};
        if (ibv_query_gid_ex(context, port, static_cast<std::uint32_t>(i), &e, 0) != 0) continue;
        constexpr std::array<std::uint8_t, 12> of_ipv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        const bool is_ipv4 = std::memcmp(e.gid.raw, of_ipv4.data(), of_ipv4.size()) == 0;
        const int rank = e.gid_type != IBV_GID_TYPE_ROCE_V2 ? 1 : is_ipv4 ? 3 : 2;
        if (rank > best_rank) best = i, best_rank = rank;
    }
    return best;
}

// Opens the device and port that the options ask for.
inline status open_verbs_port(const verbs_options& options, verbs_port& port) {
    int count = 0;
    struct free_list {
        void operator()(ibv_device** x) const noexcept { ibv_free_device_list(x); }
    };
    const std::unique_ptr<ibv_device*[], free_list> devices(ibv_get_device_list(&count));
    const char* why = "device: none here with a port that is up";
    for (int d = 0; devices && d != count; ++d) {
        if (!options.device.empty() && options.device != ibv_get_device_name(devices[static_cast<std::size_t>(d)]))
            continue;
        unique_ibv<ibv_context> context(ibv_open_device(devices[static_cast<std::size_t>(d)]));
        ibv_device_attr limits{};
        if (!context || ibv_query_device(context.get(), &limits) != 0) continue;
        for (unsigned n = 1; n <= limits.phys_port_cnt; ++n) {
            ibv_port_attr about{};
            const auto number = static_cast<std::uint8_t>(n);
            if ((options.port != 0 && options.port != number) || ibv_query_port(context.get(), number, &about) != 0 ||
                about.state != IBV_PORT_ACTIVE)
                continue;
            const int index =
                options.gid_index >= 0 ? options.gid_index : choose_gid(context.get(), number, about.gid_tbl_len);
            ibv_gid gid{};
            if (ibv_query_gid(context.get(), number, index, &gid) != 0 ||
                (gid.global.interface_id == 0 && gid.global.subnet_prefix == 0)) {
                why = "gid_index: the port has none there"; // another port may have one
                continue;
            }
            port.number = number;
            port.gid_index = index;
            port.is_ethernet = about.link_layer == IBV_LINK_LAYER_ETHERNET;
            std::memcpy(port.address.gid.data(), gid.raw, port.address.gid.size());
            port.address.most_bytes = about.max_msg_sz;
            port.address.lid = about.lid;
            port.address.mtu = static_cast<std::uint8_t>(about.active_mtu);
            port.context = std::move(context);
            return {};
        }
    }
    return {.code = errc::unsupported, .argument = why};
}

} // namespace bough::detail

#endif
