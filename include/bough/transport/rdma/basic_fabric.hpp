// SPDX-License-Identifier: BSL-1.0
// The common base of bough::fabric and bough::verbs: a transport made of the protocol in
// rdma/endpoint.hpp and one device.
#ifndef BOUGH_TRANSPORT_RDMA_BASIC_FABRIC_HPP
#define BOUGH_TRANSPORT_RDMA_BASIC_FABRIC_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/error.hpp>
#include <bough/transport/rdma/basic_rank.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/endpoint.hpp>
#include <bough/transport/rdma/join.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace bough::inline BOUGH_ABI {

template <detail::RdmaDevice Device>
class basic_fabric : public basic_rdma_rank<Device, detail::fabric_endpoint<Device>> {
protected:
    using endpoint = detail::fabric_endpoint<Device>;

private:
    using base = basic_rdma_rank<Device, endpoint>;

public:
    basic_fabric(basic_fabric&&) noexcept = default;
    basic_fabric& operator=(basic_fabric&&) = delete;

    // How many frames were dropped because they did not belong to this group.
    std::uint64_t strangers() const noexcept { return end().strangers(); }

    // Which way a message goes; see SaysWays.
    protocol way_of(rank_t, std::size_t bytes, bool) const noexcept { return end().way_of(bytes); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return end().post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return end().poll(events); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return end().take(handle, into, id);
    }
    // Only short messages can be claimed: a long one must be taken.
    bool claim(std::uint64_t handle) noexcept { return end().claim(handle); }
    void release(std::uint64_t handle) { end().release(handle); }
    errc cancel(std::uint64_t id) { return end().cancel(id); }
    // GatheringTransport: what the device has not taken counts as unsent. If the device sends only
    // when it is called, what it has taken counts too.
    void flush() { end().flush(); }
    bool unsent() const noexcept { return !this->forked() && end().out().unsent(); }
    std::uint64_t accepted(rank_t) const noexcept { return end().out().accepted(); }
    std::uint64_t handed_over(rank_t to) noexcept { return end().out().handed_over(to); }

    void wait(std::uint32_t idle, std::uint64_t) const {
        if (!end().has_found()) this->rest(idle);
    }

protected:
    using base::base;
    using base::end;
    // Throws bough::error if joining fails.
    template <class W>
    static std::unique_ptr<endpoint> joined(W& wire, const typename Device::options_type& options) {
        status result;
        auto made = detail::join_fabric<Device>(wire, options, result);
        detail::throw_if(result);
        return made;
    }
};

} // namespace bough

#endif
