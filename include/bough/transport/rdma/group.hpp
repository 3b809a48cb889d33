// SPDX-License-Identifier: BSL-1.0
// What a rank knows of its group once the ranks have agreed: who it is, who belongs to it, and how
// long payloads travel.
#ifndef BOUGH_TRANSPORT_RDMA_GROUP_HPP
#define BOUGH_TRANSPORT_RDMA_GROUP_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct fabric_group {
    rank_t rank = 0, size = 1;
    std::uint32_t job = 0;
    std::uint32_t cores = 1;
    bool oversubscribed = false;
    bool writes = true; // long payloads are written remotely
};

// Which way a message goes. A long one that is not written travels as tagged messages, piece by piece.
constexpr protocol fabric_way(const fabric_group& g, std::uint64_t bytes, std::uint64_t eager_bytes) noexcept {
    if (bytes <= eager_bytes) return protocol::copied;
    return g.writes ? protocol::remote_write : protocol::staged;
}

} // namespace bough::detail

#endif
