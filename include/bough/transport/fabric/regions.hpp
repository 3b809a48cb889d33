// SPDX-License-Identifier: BSL-1.0
// bough::fabric_regions: remote writes between processes through libfabric, whatever network
// libfabric finds.
//
//   const std::uint64_t bytes = bough::one_sided_bytes(wire.size());
//   bough::fabric_regions mine{wire, {.region_bytes = bytes, .device = {.provider = "tcp;ofi_rxm"}}};
//   bough::communicator comm{bough::one_sided{std::move(mine)}};
//
// The region is registered once, ranks exchange its address and key when they join, and puts are
// RMA writes. Libfabric promises no order of bytes within a write, so this class promises none
// either. A put of up to device.eager_bytes is copied and complete at once; a longer one of a
// single span is written from where it lies. There are no threads. With some providers (tcp, shm)
// nothing lands unless the target polls. doc/transports/one_sided.md says how failures show.
//
// Needs libfabric 1.9 or newer: CMake target bough::fabric.
#ifndef BOUGH_TRANSPORT_FABRIC_REGIONS_HPP
#define BOUGH_TRANSPORT_FABRIC_REGIONS_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/transport/fabric/device.hpp>
#include <bough/transport/fabric/options.hpp>
#include <bough/transport/rdma/basic_regions.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bough::inline BOUGH_ABI {

// What the regions are, and over which device.
struct fabric_regions_options {
    std::uint64_t region_bytes = 1u << 20; // of each rank; equal on all; at most 64 TiB
    // All but window and answer_ns count; remote_writes has to be true.
    fabric_options device{};
};

class fabric_regions : public basic_fabric_regions<detail::fabric_device> {
public:
    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join()
    // says.
    template <WireUp W>
    explicit fabric_regions(W& wire, const fabric_regions_options& o = {})
        : basic_fabric_regions(joined(wire, o.device, o.region_bytes)) {}

    // The same without exceptions. If it fails, the optional is empty and `result` says why, as in
    // fabric::join. Further causes:
    //   invalid_argument  regions that differ in size or are too large
    //   no_resources      there is no memory for a region, or it may not be registered
    //   unsupported       the provider cannot write remotely
    // If one rank alone fails, the others end with peer_aborted and its number.
    template <WireUp W>
    static std::optional<fabric_regions> join(W& wire, const fabric_regions_options& o, status& result) {
        auto made = join_regions(wire, o.device, o.region_bytes, result);
        if (!made) return std::nullopt;
        return fabric_regions(std::move(made));
    }

    // The name that libfabric gives to the provider in use.
    std::string provider() const { return end().device().provider(); }

private:
    explicit fabric_regions(std::unique_ptr<end_type> made) noexcept : basic_fabric_regions(std::move(made)) {}
};

static_assert(WaitableRemoteWrites<fabric_regions>);

} // namespace bough

#endif
