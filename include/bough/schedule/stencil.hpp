// SPDX-License-Identifier: BSL-1.0
// Stencils: to which neighbours the ranks of a grid send, as offsets that are the same for all of them.
//
//   grid_neighbours{.extents = {8, 8}, .offsets = star_offsets(2)}                       4 neighbours on a torus
//   grid_neighbours{.extents = {4, 4, 4}, .offsets = box_offsets(3), .ends = {true}}     26; no ring in dimension 0
#ifndef BOUGH_SCHEDULE_STENCIL_HPP
#define BOUGH_SCHEDULE_STENCIL_HPP

#include <bough/core/contract.hpp>
#include <bough/schedule/grid_extents.hpp>

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How much further a neighbour is in each dimension. Dimensions that are not listed: 0.
struct grid_offset {
    std::int32_t by[grid_extents::most]{};

    constexpr grid_offset() = default;
    // Pre: at most 6 numbers, each between -2^30 and 2^30.
    constexpr grid_offset(std::initializer_list<std::int32_t> offsets) {
        std::uint32_t d = 0;
        for (const std::int32_t o : offsets) {
            BOUGH_EXPECTS(d != grid_extents::most, "offset: at most 6 dimensions");
            BOUGH_EXPECTS(o > -(1 << 30) && o < 1 << 30, "offset: too far");
            by[d++] = o;
        }
    }
    friend constexpr bool operator==(const grid_offset&, const grid_offset&) = default;
};

// A grid of ranks (rank r is at r modulo the first extent in the first dimension, and so on), and
// where the neighbours of each rank are.
struct grid_neighbours {
    grid_extents extents{};
    std::vector<grid_offset> offsets{}; // any, also one twice, and none
    // Has dimension d two ends, beyond which there are no neighbours? Otherwise it is a ring.
    bool ends[grid_extents::most]{};

    friend constexpr bool operator==(const grid_neighbours&, const grid_neighbours&) = default;
};

// All offsets up to `reach` in each of so many dimensions, but not the rank itself: 26 for 3
// dimensions. The first dimension changes fastest. Pre: at most 6 dimensions; reach >= 0.
constexpr std::vector<grid_offset> box_offsets(std::uint32_t dimensions, std::int32_t reach = 1) {
    BOUGH_EXPECTS(dimensions <= grid_extents::most, "dimensions: at most 6");
    BOUGH_EXPECTS(reach >= 0, "reach: not less than 0");
    std::vector<grid_offset> made;
    grid_offset at;
    for (std::uint32_t d = 0; d != dimensions; ++d) at.by[d] = -reach;
    for (;;) {
        if (!(at == grid_offset{})) made.push_back(at);
        std::uint32_t d = 0;
        for (; d != dimensions && at.by[d] == reach; ++d) at.by[d] = -reach;
        if (d == dimensions) return made;
        ++at.by[d];
    }
}

// The offsets along the axes up to `reach`: 6 for 3 dimensions. For each dimension, the negative
// ones first. Pre: at most 6 dimensions; reach >= 0.
constexpr std::vector<grid_offset> star_offsets(std::uint32_t dimensions, std::int32_t reach = 1) {
    BOUGH_EXPECTS(dimensions <= grid_extents::most, "dimensions: at most 6");
    std::vector<grid_offset> made;
    for (std::uint32_t d = 0; d != dimensions; ++d)
        for (std::int32_t o = -reach; o <= reach; ++o) {
            if (o == 0) continue;
            grid_offset at;
            at.by[d] = o;
            made.push_back(at);
        }
    return made;
}

} // namespace bough

#endif
