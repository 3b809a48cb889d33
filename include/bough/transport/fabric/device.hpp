// SPDX-License-Identifier: BSL-1.0
// The device that moves bytes through libfabric: one endpoint with its completion queue and address
// vector, and registered memory. It is an RdmaDevice (rdma/device.hpp).
#ifndef BOUGH_TRANSPORT_FABRIC_DEVICE_HPP
#define BOUGH_TRANSPORT_FABRIC_DEVICE_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/fabric/options.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/rdma/frame.hpp>
#include <bough/transport/rdma/op.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct fid_close {
    template <class F>
    void operator()(F* f) const noexcept {
        fi_close(&f->fid);
    }
};
struct info_free {
    void operator()(fi_info* i) const noexcept { fi_freeinfo(i); }
};
template <class F>
using unique_fid = std::unique_ptr<F, fid_close>;
using unique_info = std::unique_ptr<fi_info, info_free>;

// The code that tells best why libfabric does not start.
inline errc errc_of_fabric(ssize_t result) noexcept {
    switch (-result) {
    case 0: return errc::ok;
    case FI_ENODATA:
    case FI_ENOSYS:
    case FI_EOPNOTSUPP: return errc::unsupported;
    default: return errc::no_resources;
    }
}

static_assert(sizeof(fi_context2) <= sizeof(fabric_op::context));

class fabric_device {
public:
    using options_type = fabric_options;
    using memory = unique_fid<fid_mr>;
    static constexpr measured_costs costs = fabric_costs;
    static constexpr bool tags = true, probes = false, written_uses_receive = false;
    static constexpr std::uint64_t sends = FI_SEND, receives = FI_RECV, writes_from = FI_WRITE,
                                   is_written = FI_REMOTE_WRITE;

    // Prefers a provider that can write remotely; among these, one that keeps the order of
    // messages.
    status open(const fabric_options& options) {
        for (const bool writes : {true, false})
            for (const std::uint64_t order : {std::uint64_t{FI_ORDER_SAS}, std::uint64_t{FI_ORDER_NONE}})
                if (!info_ && (options.remote_writes || !writes)) info_ = find(options, writes, order);
        if (!info_)
            return {.code = errc::unsupported,
                    .argument = "provider: none that libfabric has here does what is needed"};
        if (options.remote_writes && info_->domain_attr->cq_data_size < sizeof(std::uint32_t))
            info_ = find(options, false, FI_ORDER_NONE);
        if (!info_) return {.code = errc::unsupported, .argument = "provider: cannot send tagged messages"};
        const auto mode = static_cast<unsigned>(info_->domain_attr->mr_mode);
        local_ = options.register_all || (mode & FI_MR_LOCAL) != 0;
        bind_ = (mode & FI_MR_ENDPOINT) != 0;
        virtual_ = (mode & FI_MR_VIRT_ADDR) != 0;
        own_keys_ = (mode & FI_MR_PROV_KEY) == 0;
        return start();
    }

    const fi_info& info() const noexcept { return *info_; }
    const char* provider() const noexcept { return info_->fabric_attr->prov_name; }
    bool writes_remotely() const noexcept { return (info_->caps & FI_RMA) != 0; }
    std::size_t most_bytes() const noexcept { return info_->ep_attr->max_msg_size; } // of one transfer
    fid_ep* endpoint() const noexcept { return endpoint_.get(); }
    fid_cq* completions() const noexcept { return completions_.get(); }

    std::size_t most_sends() const noexcept { return info_->tx_attr->size; }
    std::size_t most_receives() const noexcept { return info_->rx_attr->size; }
    std::size_t most_injected() const noexcept { return info_->tx_attr->inject_size; }

    status describe(fabric_card& card, rank_t) const {
        std::size_t length = 0;
        if (const status bad = address(card.address, length)) return bad;
        card.address_bytes = static_cast<std::uint32_t>(length);
        card.tagged = !writes_remotely();
        return {};
    }
    template <WireUp W>
    status connect(W&, std::span<const fabric_card> cards, rank_t, std::uint64_t) {
        peers_.assign(cards.size(), FI_ADDR_UNSPEC);
        for (std::size_t r = 0; r != cards.size(); ++r)
            if (const status bad = insert(cards[r].address.data(), peers_[r])) return bad;
        return {};
    }

    // The address at which others reach this rank; fails if it is longer than `into`.
    status address(std::span<std::byte> into, std::size_t& length) const {
        length = into.size();
        if (fi_getname(&endpoint_->fid, into.data(), &length) != 0 || length > into.size())
            return {.code = errc::unsupported, .argument = "provider: its addresses are too long"};
        return {};
    }
    status insert(const std::byte* address, fi_addr_t& peer) {
        return fi_av_insert(addresses_.get(), address, 1, &peer, 0, nullptr) == 1 ? status{}
                                                                                  : status{.code = errc::no_resources};
    }

    // Registers memory for the provider. If others write into it (FI_REMOTE_WRITE), it is always
    // registered. For this rank's own transfers many providers need no registration: then
    // `registered` stays empty. False: it could not be registered.
    bool register_memory(std::span<const std::byte> bytes, std::uint64_t access, memory& registered) {
        const bool target = (access & FI_REMOTE_WRITE) != 0;
        if (!target && !local_) return true;
        fid_mr* made = nullptr;
        int result = -FI_ENOKEY;
        for (int tries = 0; result == -FI_ENOKEY && tries != 64; ++tries) {
            const std::uint64_t key = own_keys_ ? next_key() : 0;
            result = fi_mr_reg(domain_.get(), bytes.data(), bytes.size(), access, 0, key, 0, &made, nullptr);
        }
        if (result != 0) return false;
        registered.reset(made);
        return !bind_ || (fi_mr_bind(made, &endpoint_->fid, 0) == 0 && fi_mr_enable(made) == 0);
    }
    static void* descriptor(const memory& registered) noexcept {
        return registered ? fi_mr_desc(registered.get()) : nullptr;
    }
    std::uint64_t remote_address(const std::byte* first) const noexcept {
        return virtual_ ? reinterpret_cast<std::uint64_t>(first) : 0;
    }
    static std::uint64_t remote_key(const memory& registered) noexcept { return fi_mr_key(registered.get()); }

    // --- Operations ---

    bool receive(fabric_buffer& b, std::size_t longest) {
        return fi_recv(endpoint(), b.memory, longest, b.descriptor, FI_ADDR_UNSPEC, &b.op.context) == 0;
    }
    fabric_result send(rank_t to, fabric_buffer& b) {
        return result_of(fi_send(endpoint(), b.memory, b.length, b.descriptor, peers_[to], &b.op.context));
    }
    fabric_result inject(rank_t to, std::span<const std::byte> bytes) {
        return result_of(fi_inject(endpoint(), bytes.data(), bytes.size(), peers_[to]));
    }
    fabric_result write(rank_t to, const fabric_piece& p, std::uint64_t address, std::uint64_t key,
                        std::uint32_t ticket) {
        return result_of(fi_writedata(endpoint(), p.bytes.data(), p.bytes.size(), p.descriptor, ticket, peers_[to],
                                      address, key, &p.op->context));
    }
    fabric_result send_tagged(rank_t to, const fabric_piece& p, std::uint64_t tag) {
        return result_of(
            fi_tsend(endpoint(), p.bytes.data(), p.bytes.size(), p.descriptor, peers_[to], tag, &p.op->context));
    }
    bool receive_tagged(rank_t from, std::span<std::byte> into, void* descriptor, std::uint64_t tag, fabric_op& op) {
        return fi_trecv(endpoint(), into.data(), into.size(), descriptor, peers_[from], tag, 0, &op.context) == 0;
    }
    void cancel(fabric_op& op) { fi_cancel(&endpoint_->fid, &op.context); }

    std::size_t poll(std::span<fabric_done> done) {
        std::array<fi_cq_data_entry, 8> entries;
        const ssize_t n = fi_cq_read(completions(), entries.data(), std::min(done.size(), entries.size()));
        if (n == -FI_EAVAIL) return failed(done[0]);
        for (ssize_t i = 0; i < n; ++i) {
            const fi_cq_data_entry& e = entries[static_cast<std::size_t>(i)];
            fabric_done& d = done[static_cast<std::size_t>(i)];
            if ((e.flags & FI_REMOTE_WRITE) != 0)
                d = {.how = fabric_done::way::written, .ticket = static_cast<std::uint32_t>(e.data)};
            else
                d = {.op = &fabric_op::of(e.op_context), .bytes = e.len};
        }
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    // Libfabric does not tell, and sends what it has taken in any case.
    static constexpr bool all_sent() noexcept { return true; }
    bool sends_alone() const noexcept { return info_->domain_attr->data_progress == FI_PROGRESS_AUTO; }
    static constexpr void disconnect(rank_t) noexcept {} // libfabric takes care of connections
    bool opens_files() const noexcept {
        const std::string_view name = provider();
        return name.find("tcp") != name.npos || name.find("sockets") != name.npos || name.find("net") != name.npos;
    }

    // From here on the provider touches no memory of this rank, except registered memory.
    void close_endpoint() noexcept { endpoint_.reset(); }
    // In a forked child: forgets everything without closing it, because it belongs to the parent.
    void abandon() noexcept {
        (void)endpoint_.release();
        (void)completions_.release();
        (void)addresses_.release();
        (void)domain_.release();
        (void)fabric_.release();
    }

private:
    static constexpr std::uint32_t version = FI_VERSION(1, 9);

    static unique_info find(const fabric_options& options, bool writes, std::uint64_t order) {
        const unique_info hints(fi_allocinfo());
        if (!hints) return nullptr;
        hints->caps = FI_MSG | (writes ? FI_RMA : FI_TAGGED);
        hints->mode = FI_CONTEXT | FI_CONTEXT2;
        hints->ep_attr->type = FI_EP_RDM;
        hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
        hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
        if (!options.provider.empty()) hints->fabric_attr->prov_name = ::strdup(options.provider.c_str());
        if (!options.domain.empty()) hints->domain_attr->name = ::strdup(options.domain.c_str());
        fi_info* found = nullptr;
        const char* node = options.node.empty() ? nullptr : options.node.c_str();
        if (fi_getinfo(version, node, nullptr, node != nullptr ? FI_SOURCE : 0, hints.get(), &found) != 0)
            return nullptr;
        return unique_info(found);
    }

    static fabric_result result_of(ssize_t code) noexcept {
        if (code == 0) return fabric_result::ok;
        return code == -FI_EAGAIN || code == -FI_ENOMEM ? fabric_result::full : fabric_result::broken;
    }
    BOUGH_COLD std::size_t failed(fabric_done& done) {
        fi_cq_err_entry e{};
        if (fi_cq_readerr(completions(), &e, 0) < 0 || e.op_context == nullptr) return 0;
        done = {.op = &fabric_op::of(e.op_context), .how = fabric_done::way::failed};
        return 1;
    }

    status start() {
        fid_fabric* fabric = nullptr;
        fid_domain* domain = nullptr;
        fid_av* addresses = nullptr;
        fid_cq* completions = nullptr;
        const auto failed = [](int result) { return status{.code = errc_of_fabric(result)}; };
        int result = 0;
        if ((result = fi_fabric(info_->fabric_attr, &fabric, nullptr)) != 0) return failed(result);
        fabric_.reset(fabric);
        if ((result = fi_domain(fabric, info_.get(), &domain, nullptr)) != 0) return failed(result);
        domain_.reset(domain);
        fi_av_attr of_addresses{};
        of_addresses.type = info_->domain_attr->av_type;
        if ((result = fi_av_open(domain, &of_addresses, &addresses, nullptr)) != 0) return failed(result);
        addresses_.reset(addresses);
        fi_cq_attr of_completions{};
        of_completions.format = FI_CQ_FORMAT_DATA;
        of_completions.wait_obj = FI_WAIT_NONE;
        of_completions.size = std::max<std::size_t>(4096, info_->rx_attr->size + info_->tx_attr->size);
        if ((result = fi_cq_open(domain, &of_completions, &completions, nullptr)) != 0) return failed(result);
        completions_.reset(completions);
        // The provider shm makes a file with the name of the endpoint. A killed process that had
        // the same process number may have left a file of that name. Another endpoint has another
        // name.
        result = -FI_EBUSY;
        for (int tries = 0; result == -FI_EBUSY && tries != 64; ++tries) result = start_endpoint();
        return failed(result);
    }
    int start_endpoint() {
        fid_ep* endpoint = nullptr;
        if (const int bad = fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr)) return bad;
        endpoint_.reset(endpoint);
        if (const int bad = fi_ep_bind(endpoint, &addresses_->fid, 0)) return bad;
        if (const int bad = fi_ep_bind(endpoint, &completions_->fid, FI_TRANSMIT | FI_RECV)) return bad;
        return fi_enable(endpoint);
    }

    std::uint64_t next_key() noexcept {
        const std::size_t bits = 8 * std::min<std::size_t>(info_->domain_attr->mr_key_size, 8);
        const std::uint64_t mask = bits >= 64 || bits == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        return ++keys_ & mask;
    }

    unique_info info_;
    bool local_ = false, bind_ = false, virtual_ = false, own_keys_ = false;
    std::uint64_t keys_ = 0;
    std::vector<fi_addr_t> peers_;
    // Members are destroyed from the last to the first, which is the order in which libfabric wants
    // them closed.
    unique_fid<fid_fabric> fabric_;
    unique_fid<fid_domain> domain_;
    unique_fid<fid_av> addresses_;
    unique_fid<fid_cq> completions_;
    unique_fid<fid_ep> endpoint_;
};

} // namespace bough::detail

#endif
