// SPDX-License-Identifier: BSL-1.0
// What a rank knows of its group once the ranks have agreed: who it is, who belongs to it, and how
// long payloads travel.
#ifndef BOUGH_TRANSPORT_RDMA_GROUP_HPP
#define BOUGH_TRANSPORT_RDMA_GROUP_HPP

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

} // namespace bough::detail

#endif
