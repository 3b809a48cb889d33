// SPDX-License-Identifier: BSL-1.0
// Memory that a rank exposes beside its region (W11 of a RemoteWriteTransport), over a device
// (device.hpp). Each piece is registered as long as it is exposed; afterwards the device refuses writes
// with its key.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_EXPOSURES_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_EXPOSURES_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/transport/rdma/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Where a device writes: an address, as the device counts them, in the memory registered under the
// key.
struct fabric_target {
    std::uint64_t address = 0, key = 0;
};

template <RdmaMemory Device>
class fabric_exposures {
public:
    // The result has no key if the memory cannot be registered, now or ever.
    exposure expose(Device& device, std::span<std::byte> memory) {
        exposed_.reserve(exposed_.size() + 1);
        typename Device::memory registered;
        if (!device.register_memory(memory, Device::is_written, registered)) return {};
        const exposure at{device.remote_address(memory.data()), Device::remote_key(registered) + 1};
        if (!at) return {};
        exposed_.emplace_back(at, std::move(registered));
        return at;
    }
    void conceal(const exposure& e) noexcept {
        std::erase_if(exposed_, [&](const auto& x) { return x.first == e; });
    }
    // An exposure's key is the device's plus 1: 0 is a valid key of a device, and means "no key"
    // here.
    static constexpr fabric_target place_of(const exposure& e) noexcept { return {e.place, e.key - 1}; }
    // In a forked child: forgets the registered memory, because it belongs to the parent.
    void abandon() noexcept {
        for (auto& x : exposed_) (void)x.second.release();
    }

private:
    std::vector<std::pair<exposure, typename Device::memory>> exposed_;
};

} // namespace bough::detail

#endif
