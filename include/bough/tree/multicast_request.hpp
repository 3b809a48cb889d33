// SPDX-License-Identifier: BSL-1.0
// multicast_request: who sends to whom in one of many multicasts.
//
//   const std::vector<multicast_request> wanted{{.root = 0, .members = {1, 2, 5}}, {.root = 3, .members = {1, 4, 5}}};
#ifndef BOUGH_TREE_MULTICAST_REQUEST_HPP
#define BOUGH_TREE_MULTICAST_REQUEST_HPP

#include <bough/core/rank.hpp>

#include <vector>

namespace bough::inline BOUGH_ABI {

struct multicast_request {
    rank_t root = 0;
    std::vector<rank_t> members{}; // each listed once; the root may be listed or not
    friend constexpr bool operator==(const multicast_request&, const multicast_request&) = default;
};

} // namespace bough

#endif
