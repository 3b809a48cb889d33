// SPDX-License-Identifier: BSL-1.0
// The common base of bough::fabric_regions and bough::verbs_regions: remote writes by the protocol
// in rdma/region_end.hpp and one device.
#ifndef BOUGH_TRANSPORT_RDMA_BASIC_REGIONS_HPP
#define BOUGH_TRANSPORT_RDMA_BASIC_REGIONS_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/model/logp.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/join.hpp>
#include <bough/transport/rdma/region_end.hpp>
#include <bough/transport/rdma/region_parts.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <detail::RdmaDevice Device>
class basic_fabric_regions {
public:
    // Networks promise no order within a write, and few promise one between writes. So messages
    // carry a digest, and a flush costs a round trip.
    static constexpr bool keeps_byte_order = false;

    basic_fabric_regions(basic_fabric_regions&&) noexcept = default;
    basic_fabric_regions& operator=(basic_fabric_regions&&) = delete;

    rank_t rank() const noexcept { return end_->who().rank; }
    rank_t size() const noexcept { return end_->who().size; }
    // How many cores the ranks share: the cores of all machines, each machine counted once.
    std::uint32_t cores() const noexcept { return end_->who().cores; }
    bool oversubscribed() const noexcept { return end_->who().oversubscribed; }
    // What messages by such writes cost (bough/select/transport_costs.hpp).
    static constexpr model::loggops default_costs() noexcept { return Device::costs.model; }
    static constexpr double switch_ns() noexcept { return Device::costs.switch_ns; }
    bool forked() const noexcept { return end_->forked(); }
    std::span<std::byte> region() const noexcept { return end_->region(); }
    // How many writes of that rank have landed here: a remote counter. A put is one write, or
    // several if it is longer than the device writes at once.
    std::uint64_t landed(rank_t from) const noexcept { return end_->landed(from); }

    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        return end_->put(to, offset, first, second, id);
    }
    // Registers memory. That takes microseconds, and grows with the number of pages.
    exposure expose(std::span<std::byte> memory) { return end_->expose(memory); }
    void conceal(const exposure& e) noexcept { end_->conceal(e); }
    posted put_exposed(rank_t to, const exposure& at, std::span<const std::byte> bytes, std::uint64_t id) {
        return end_->put_exposed(to, at, bytes, id);
    }
    posted flush(rank_t to, std::uint64_t id) { return end_->flush(to, id); }
    std::size_t poll(std::span<event> events) { return end_->poll(events); }

    // GatheringRemoteWrites: what the device has not taken counts as unsent. If the device sends
    // only when it is called, what it has taken counts too.
    bool unsent() const noexcept { return !forked() && end_->unsent(); }
    std::uint64_t accepted(rank_t) const noexcept { return end_->accepted(); }
    std::uint64_t handed_over(rank_t to) noexcept { return end_->handed_over(to); }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }
    // Only polls drive the device, so a rank must not sleep for long.
    template <class Landed>
    void wait(std::uint32_t idle, std::uint64_t, Landed&&) const {
        constexpr std::uint32_t yields = 5'000; // some milliseconds
        if (const std::uint32_t spins = oversubscribed() ? 1 : 200; idle >= spins + yields)
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        else if (idle >= spins)
            std::this_thread::yield();
    }

protected:
    using end_type = detail::fabric_region_end<Device>;
    explicit basic_fabric_regions(std::unique_ptr<end_type> end) noexcept : end_(std::move(end)) {}
    // Collective. If the result is empty, `outcome` says why.
    template <WireUp W>
    static std::unique_ptr<end_type> join_regions(W& wire, const typename Device::options_type& options,
                                                  std::uint64_t region_bytes, status& outcome) {
        std::unique_ptr<end_type> end;
        join_room room(wire, options.timeout_ns);
        const auto join = [&]() -> status {
            if (region_bytes > std::uint64_t{1} << 46) return invalid_argument("region_bytes: at most 64 TiB");
            detail::fabric_meeting<Device> met(options);
            if (const status bad = met.run(room)) return bad;
            if (!met.group.writes) // the same on all ranks
                return {.code = errc::unsupported, .argument = "provider: cannot write remotely"};
            end = std::make_unique<end_type>(std::move(met.device), met.options, met.group, region_bytes);
            met.for_each_neighbour([&](rank_t r, std::uint64_t process) { end->watch(r, process); });
            detail::fabric_region_card mine;
            std::vector<detail::fabric_region_card> all(room.size());
            if (const status bad = end->prepare(mine)) return bad;
            if (const status bad = room.exchange(std::as_bytes(std::span(&mine, 1)),
                                                 std::as_writable_bytes(std::span(all)), room.left_ns()))
                return bad;
            if (const status bad = detail::agree_on_regions(all, room.rank())) return bad;
            end->reach(all);
            return room.meet([&](std::uint64_t until_ns) { return end->greet(until_ns); });
        };
        outcome = room.run([&] { return detail::attempted(join); });
        if (outcome)
            end.reset();
        else
            end->begin();
        return end;
    }
    // Throws bough::error if joining fails.
    template <WireUp W>
    static std::unique_ptr<end_type> joined(W& wire, const typename Device::options_type& options,
                                            std::uint64_t region_bytes) {
        status outcome;
        auto made = join_regions(wire, options, region_bytes, outcome);
        detail::throw_if(outcome);
        return made;
    }
    const end_type& end() const noexcept { return *end_; }

private:
    std::unique_ptr<end_type> end_;
};

} // namespace bough

#endif
