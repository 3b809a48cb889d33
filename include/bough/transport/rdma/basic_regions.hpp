// SPDX-License-Identifier: BSL-1.0
// The common base of bough::fabric_regions and bough::verbs_regions: remote writes by the protocol
// in rdma/region_end.hpp and one device.
#ifndef BOUGH_TRANSPORT_RDMA_BASIC_REGIONS_HPP
#define BOUGH_TRANSPORT_RDMA_BASIC_REGIONS_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/transport/rdma/basic_rank.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/join.hpp>
#include <bough/transport/rdma/region_end.hpp>
#include <bough/transport/rdma/region_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <detail::RdmaDevice Device>
class basic_fabric_regions : public basic_rdma_rank<Device, detail::fabric_region_end<Device>> {
protected:
    using end_type = detail::fabric_region_end<Device>;

private:
    using base = basic_rdma_rank<Device, end_type>;

public:
    // Networks promise no order within a write, and few promise one between writes. So messages
    // carry a digest, and a flush costs a round trip.
    static constexpr bool keeps_byte_order = false;

    basic_fabric_regions(basic_fabric_regions&&) noexcept = default;
    basic_fabric_regions& operator=(basic_fabric_regions&&) = delete;

    std::span<std::byte> region() const noexcept { return end().region(); }
    // How many writes of that rank have landed here: a remote counter. A put is one write, or
    // several if it is longer than the device writes at once.
    std::uint64_t landed(rank_t from) const noexcept { return end().landed(from); }

    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        return end().put(to, offset, first, second, id);
    }
    // Registers memory. That takes microseconds, and grows with the number of pages.
    exposure expose(std::span<std::byte> memory) { return end().expose(memory); }
    void conceal(const exposure& e) noexcept { end().conceal(e); }
    posted put_exposed(rank_t to, const exposure& at, std::span<const std::byte> bytes, std::uint64_t id) {
        return end().put_exposed(to, at, bytes, id);
    }
    posted flush(rank_t to, std::uint64_t id) { return end().flush(to, id); }
    std::size_t poll(std::span<event> events) { return end().poll(events); }

    // GatheringRemoteWrites: what the device has not taken counts as unsent. If the device sends
    // only when it is called, what it has taken counts too.
    bool unsent() const noexcept { return !this->forked() && end().unsent(); }
    std::uint64_t accepted(rank_t) const noexcept { return end().accepted(); }
    std::uint64_t handed_over(rank_t to) noexcept { return end().handed_over(to); }

    template <class Landed>
    void wait(std::uint32_t idle, std::uint64_t, Landed&&) const {
        this->rest(idle);
    }

protected:
    using base::base;
    using base::end;
    // Collective. If the result is empty, `outcome` says why.
    template <WireUp W>
    static std::unique_ptr<end_type> join_regions(W& wire, const typename Device::options_type& options,
                                                  std::uint64_t region_bytes, status& outcome) {
        const auto make = [region_bytes](detail::fabric_meeting<Device>& met,
                                         std::unique_ptr<end_type>& end) -> status {
            if (region_bytes > std::uint64_t{1} << 46) return invalid_argument("region_bytes: at most 64 TiB");
            if (!met.group.writes) // the same on all ranks
                return {.code = errc::unsupported, .argument = "provider: cannot write remotely"};
            end = std::make_unique<end_type>(std::move(met.device), met.options, met.group, region_bytes);
            return {};
        };
        return detail::join_with<end_type, Device>(
            wire, options, outcome, make, [](end_type& end, auto& room) -> status {
                detail::fabric_region_card mine;
                std::vector<detail::fabric_region_card> all(room.size());
                if (const status bad = end.prepare(mine)) return bad;
                if (const status bad = room.exchange(std::as_bytes(std::span(&mine, 1)),
                                                     std::as_writable_bytes(std::span(all)), room.left_ns()))
                    return bad;
                if (const status bad = detail::agree_on_regions(all, room.rank())) return bad;
                end.reach(all);
                return room.meet([&](std::uint64_t until_ns) { return end.greet(until_ns); });
            });
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
};

} // namespace bough

#endif
