// SPDX-License-Identifier: BSL-1.0
// The common base of bough::fabric and bough::verbs: a transport made of the protocol in
// rdma/endpoint.hpp and one device.
#ifndef BOUGH_TRANSPORT_RDMA_BASIC_FABRIC_HPP
#define BOUGH_TRANSPORT_RDMA_BASIC_FABRIC_HPP

#include <bough/concepts/transport.hpp>
#include <bough/error.hpp>
#include <bough/model/logp.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/endpoint.hpp>
#include <bough/transport/rdma/join.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI {

template <detail::RdmaDevice Device>
class basic_fabric {
public:
    basic_fabric(basic_fabric&&) noexcept = default;
    basic_fabric& operator=(basic_fabric&&) = delete;

    rank_t rank() const noexcept { return end_->who().rank; }
    rank_t size() const noexcept { return end_->who().size; }
    // How many cores the ranks share: the cores of all machines, each machine counted once.
    std::uint32_t cores() const noexcept { return end_->who().cores; }
    // Whether this machine has more ranks than cores. Then a rank that waits takes time from one
    // that works.
    bool oversubscribed() const noexcept { return end_->who().oversubscribed; }
    // The costs by which plans are chosen (bough/select/transport_costs.hpp).
    static constexpr model::loggops default_costs() noexcept { return Device::costs.model; }
    static constexpr double switch_ns() noexcept { return Device::costs.switch_ns; }
    bool forked() const noexcept { return end_->forked(); }
    // How many frames were dropped because they did not belong to this group.
    std::uint64_t strangers() const noexcept { return end_->strangers(); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return end_->post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return end_->poll(events); }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return end_->take(handle, into, id);
    }
    // Only short messages can be claimed: a long one must be taken.
    bool claim(std::uint64_t handle) noexcept { return end_->claim(handle); }
    void release(std::uint64_t handle) { end_->release(handle); }
    errc cancel(std::uint64_t id) { return end_->cancel(id); }
    // GatheringTransport: what the device has not taken counts as unsent. If the device sends only
    // when it is called, what it has taken counts too.
    void flush() { end_->flush(); }
    bool unsent() const noexcept { return !forked() && end_->lines().unsent(); }
    std::uint64_t accepted(rank_t) const noexcept { return end_->lines().accepted(); }
    std::uint64_t handed_over(rank_t to) noexcept { return end_->lines().handed_over(to); }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }
    // Only polls drive the device, so a rank must not sleep for long.
    void wait(std::uint32_t idle, std::uint64_t) const {
        const std::uint32_t spins = oversubscribed() ? 1 : 200;
        constexpr std::uint32_t yields = 5'000; // some milliseconds; each poll has asked the device too
        if (idle < spins || end_->has_found()) return;
        if (idle < spins + yields)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

protected:
    using endpoint = detail::fabric_endpoint<Device>;
    explicit basic_fabric(std::unique_ptr<endpoint> end) noexcept : end_(std::move(end)) {}
    // Throws bough::error if joining fails.
    template <class W>
    static std::unique_ptr<endpoint> joined(W& wire, const typename Device::options_type& options) {
        status result;
        auto made = detail::join_fabric<Device>(wire, options, result);
        detail::throw_if(result);
        return made;
    }
    const endpoint& end() const noexcept { return *end_; }

private:
    std::unique_ptr<endpoint> end_;
};

} // namespace bough

#endif
