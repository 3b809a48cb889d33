// SPDX-License-Identifier: BSL-1.0
// What all transports over an RDMA device tell of their rank, and how a rank waits that only polls
// drive on.
#ifndef BOUGH_TRANSPORT_RDMA_BASIC_RANK_HPP
#define BOUGH_TRANSPORT_RDMA_BASIC_RANK_HPP

#include <bough/core/rank.hpp>
#include <bough/model/logp.hpp>
#include <bough/os/clock.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI {

// `End`: one rank's part of the protocol.
template <class Device, class End>
class basic_rdma_rank {
public:
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
    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }

protected:
    explicit basic_rdma_rank(std::unique_ptr<End> end) noexcept : end_(std::move(end)) {}
    End& end() noexcept { return *end_; }
    const End& end() const noexcept { return *end_; }
    // After `idle` polls that found nothing. Only polls drive the device, so a rank must not sleep
    // for long.
    void rest(std::uint32_t idle) const {
        const std::uint32_t spins = oversubscribed() ? 1 : 200;
        constexpr std::uint32_t yields = 5'000; // some milliseconds; each poll has asked the device too
        if (idle >= spins + yields)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        else if (idle >= spins)
            std::this_thread::yield();
    }

private:
    std::unique_ptr<End> end_;
};

} // namespace bough

#endif
