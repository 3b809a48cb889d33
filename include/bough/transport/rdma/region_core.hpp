// SPDX-License-Identifier: BSL-1.0
// What the parts of one rank of bough::fabric_regions or bough::verbs_regions share: the group, the
// device, which peers are there, the events for the user, its memory, and its writes.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_CORE_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_CORE_HPP

#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/group.hpp>
#include <bough/transport/rdma/presence.hpp>
#include <bough/transport/rdma/region_memory.hpp>
#include <bough/transport/rdma/region_writes.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaWriter Device>
struct fabric_region_core {
    using options_type = typename Device::options_type;

    fabric_region_core(std::unique_ptr<Device> d, const options_type& o, const fabric_group& g, std::uint64_t bytes)
        : options(o), group(g), memory(g.size, bytes), device(std::move(d)), presence(g.rank, g.size),
          writes(*device, g, o.eager_bytes, presence) {
        events.expect(g.size); // each may be lost
    }

    options_type options;
    fabric_group group;
    fabric_region_memory memory; // outlives the device, through which others write into it
    std::unique_ptr<Device> device;
    typename Device::memory registered; // `memory` with the device
    fabric_presence presence;
    due_events events;
    fabric_region_writes<Device> writes;
};

} // namespace bough::detail

#endif
