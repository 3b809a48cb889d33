// SPDX-License-Identifier: BSL-1.0
// What the algorithms for tori have in common: their extents, and the directions in which a rank can
// send.
#ifndef BOUGH_ALGORITHM_DETAIL_TORUS_HPP
#define BOUGH_ALGORITHM_DETAIL_TORUS_HPP

#include <bough/algorithm/detail/block_per_rank.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/schedule/grid_extents.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

constexpr status check_extents(const grid_extents& extents, rank_t size) noexcept {
    if (extents.has_none()) return invalid_argument("extents: each is at least 1");
    return extents.serve(size) ? status{} : invalid_argument("extents: their product is not the number of ranks");
}
// Of a reduce_scatter or an allgather, which has a block for each rank.
constexpr status check_torus_half(const grid_extents& extents, const dimensions& at) noexcept {
    if (const status bad = check_extents(extents, at.size)) return bad;
    return check_block_per_rank(at);
}
constexpr label torus_label(const char* name, const grid_extents& extents) {
    label made(name);
    if (extents.dimensions != 0) made.field(label(".extents = ").append(extents.text().c_str()));
    return made;
}

// The directions in which a rank has links of its own: two in a dimension, one in a dimension of two
// ranks. A collective can run in each of them at the same time.
constexpr rank_t ports_of_dimension(const grid_extents& grid, std::uint32_t dimension) noexcept {
    return std::min<rank_t>(grid.extent[dimension] - 1, 2);
}
constexpr rank_t ports_of_torus(const grid_extents& grid) noexcept {
    rank_t ports = 0;
    for (std::uint32_t d = 0; d != grid.dimensions; ++d) ports += ports_of_dimension(grid, d);
    return std::max<rank_t>(ports, 1);
}
// The blocks of an algorithm that runs as `ports` collectives, 0 for all.
constexpr block_t blocks_of_torus(const grid_extents& extents, rank_t ports, rank_t size) noexcept {
    if (!extents.serve(size)) return size;
    return size * (ports == 0 ? ports_of_torus(extents.of(size)) : ports);
}
// Can so many blocks for each rank be numbered?
constexpr status check_blocks_of_each(rank_t size, std::uint32_t each) noexcept {
    return each <= (natural_blocks - 1) / size
               ? status{}
               : invalid_argument("size: so many ranks have more blocks than a block_t counts");
}
constexpr status check_torus_ports(const grid_extents& extents, rank_t ports, const dimensions& at) noexcept {
    if (const status bad = check_extents(extents, at.size)) return bad;
    const rank_t most = ports_of_torus(extents.of(at.size));
    if (ports > most) return invalid_argument("ports: more than the torus has");
    if (const status bad = check_blocks_of_each(at.size, ports == 0 ? most : ports)) return bad;
    if (at.blocks != blocks_of_torus(extents, ports, at.size) && at.blocks != natural_blocks)
        return invalid_argument("blocks: must be one for each rank and port");
    return {};
}

} // namespace bough::detail

#endif
