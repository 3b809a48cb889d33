// SPDX-License-Identifier: BSL-1.0
// What the parts of one rank of bough::fabric or bough::verbs share: the group, the device, the
// frames over it, which peers are there, and the events for the user.
#ifndef BOUGH_TRANSPORT_RDMA_RANK_CORE_HPP
#define BOUGH_TRANSPORT_RDMA_RANK_CORE_HPP

#include <bough/transport/detail/credits.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/group.hpp>
#include <bough/transport/rdma/inbox.hpp>
#include <bough/transport/rdma/outbox.hpp>
#include <bough/transport/rdma/presence.hpp>

#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <RdmaMessenger Device>
struct fabric_rank_core {
    using options_type = typename Device::options_type;

    fabric_rank_core(std::unique_ptr<Device> d, const options_type& o, const fabric_group& g)
        : options(o), group(g), device(std::move(d)), presence(g.rank, g.size), credits(g.size, o.window),
          in(*device, o, group, presence, credits), out(*device, o, group, presence, credits) {
        events.expect(group.size); // each may be lost
    }
    fabric_rank_core(const fabric_rank_core&) = delete; // its members point to each other
    fabric_rank_core& operator=(const fabric_rank_core&) = delete;

    options_type options;
    fabric_group group;
    std::unique_ptr<Device> device;
    fabric_presence presence;
    message_credits credits;
    fabric_inbox<Device> in;
    fabric_outbox<Device> out;
    due_events events;
};

} // namespace bough::detail

#endif
