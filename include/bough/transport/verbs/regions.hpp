// SPDX-License-Identifier: BSL-1.0
// bough::verbs_regions: remote writes between processes through RDMA cards (InfiniBand, RoCE), by
// libibverbs alone.
//
//   bough::verbs_regions mine{wire, {.region_bytes = bough::one_sided_bytes(wire.size())}};
//   bough::communicator comm{bough::one_sided{std::move(mine)}};
//
// The protocol is that of bough::fabric_regions (rdma/region_end.hpp), over the device of
// bough::verbs.
//
// Needs libibverbs of rdma-core 33 or newer: CMake target bough::verbs.
#ifndef BOUGH_TRANSPORT_VERBS_REGIONS_HPP
#define BOUGH_TRANSPORT_VERBS_REGIONS_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/transport/rdma/basic_regions.hpp>
#include <bough/transport/verbs/device.hpp>
#include <bough/transport/verbs/options.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bough::inline BOUGH_ABI {

// What the regions are, and over which device.
struct verbs_regions_options {
    std::uint64_t region_bytes = 1u << 20; // of each rank; equal on all; at most 64 TiB
    verbs_options device{};
};

class verbs_regions : public basic_fabric_regions<detail::verbs_device> {
public:
    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join()
    // says.
    template <WireUp W>
    explicit verbs_regions(W& wire, const verbs_regions_options& o = {})
        : basic_fabric_regions(joined(wire, o.device, o.region_bytes)) {}

    // The same without exceptions. If it fails, the optional is empty and `result` says why, as in
    // verbs::join. Further causes:
    //   invalid_argument  regions that differ in size or are too large
    //   no_resources      there is no memory for a region, or it may not be registered
    // If one rank alone fails, the others end with peer_aborted and its number.
    template <WireUp W>
    static std::optional<verbs_regions> join(W& wire, const verbs_regions_options& o, status& result) {
        auto made = join_regions(wire, o.device, o.region_bytes, result);
        if (!made) return std::nullopt;
        return verbs_regions(std::move(made));
    }

    // The name of the card in use.
    std::string device() const { return end().device().name(); }

private:
    explicit verbs_regions(std::unique_ptr<end_type> made) noexcept : basic_fabric_regions(std::move(made)) {}
};

static_assert(WaitableRemoteWrites<verbs_regions>);

} // namespace bough

#endif
